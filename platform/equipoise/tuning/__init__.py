"""The equal search for hyper-parameters: Optuna proposes, the scheduler runs, the ledgers say what it cost."""
