"""The figures: drawn as SVG with text as text, coloured by the page's own light or dark palette."""
