"""Settings of the site, which `sphinx-build -W docs OUT` builds without a network.

With ``-t online``, names of packages that skdp is used with become links to their documentation.
"""

import shutil
from importlib.util import find_spec
from pathlib import Path

from numpydoc.docscrape import NumpyDocString

import skdp

project = "skdp"
author = project_copyright = "skdp developers"
version = release = skdp.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
if tags.has("online"):  # noqa: F821
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_timeout = 10
    intersphinx_mapping = {
        "numpy": ("https://numpy.org/doc/stable", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
        "dask": ("https://docs.dask.org/en/stable", None),
        "pandas": ("https://pandas.pydata.org/docs", None),
    }

# Sphinx finds pages of the gallery by its own suffixes; these are what they are made of.
exclude_patterns = ["**/GALLERY_HEADER.rst"]
templates_path = ["_templates"]

# Pages in Markdown
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "amsmath"]
myst_heading_anchors = 3

# Reference
autosummary_generate = True
# Where names differ by case alone, so must the files not.
autosummary_filename_map = {
    "skdp.plan": "skdp.plan-function",
    "skdp.inference": "skdp.inference-function",
    "skdp.reporting.releases": "skdp.reporting.releases-function",
}
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False
# A section of the house, which show_guarantees hands to numpydoc as notes.
NumpyDocString.sections["Guarantees"] = []

# Examples
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "ignore_pattern": r"(^|[/\\])(?!plot_)[^/\\]+\.py$",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("skdp",),
    "reference_url": {"skdp": None},
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "show_memory": False,
    "write_computation_times": False,
}

# Appearance
html_theme = "pydata_sphinx_theme"
html_title = "skdp"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["fold.js"]
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
# A page of its own, without neighbours to list beside it.
html_sidebars = {"start": []}
html_show_sourcelink = html_copy_source = False
html_theme_options = {
    "logo": {"text": "skdp"},
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "navigation_with_keys": False,
    "show_toc_level": 2,
    # Else each page of the reference would carry the names of all others.
    "collapse_navigation": True,
    "footer_start": ["copyright"],
    "footer_end": [],
}
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

# Formulas are set in the browser, by files that come along, so that pages need no network.
mathjax_path = "mathjax/tex-chtml-full.js"


def copy_mathjax(app, exception):
    """Copy MathJax, and of its files only those that pages load, beside the other static files."""
    if exception is None and app.builder.format == "html":
        source = Path(find_spec("sphinx-mathjax-offline").origin).parent / "static" / "mathjax"
        target = app.outdir / "_static" / "mathjax"
        fonts = Path("output", "chtml", "fonts", "woff-v2")
        shutil.copytree(source / fonts, target / fonts, dirs_exist_ok=True)
        shutil.copy(source / "tex-chtml-full.js", target)


def show_guarantees(app, what, name, obj, options, lines):
    """Make a docstring's list of guarantees a part of its notes, a section that numpydoc knows."""
    if "Guarantees" not in lines:
        return
    start = lines.index("Guarantees")
    rules = [k for k in range(start + 2, len(lines)) if set(lines[k]) == {"-"}]
    end = rules[0] - 1 if rules else len(lines)
    guarantees = ["**Guarantees**", "", *lines[start + 2 : end], ""]
    del lines[start:end]
    if "Notes" in lines:
        start = lines.index("Notes") + 2
    else:
        lines[start:start] = ["Notes", "-----"]
        start += 2
    lines[start:start] = guarantees


def leave_out(app, what, name, obj, skip, options):
    """Leave out what scikit-learn adds to every estimator, and describes with links of its own."""
    routing = name.startswith("set_") and name.endswith("_request")
    added = routing or name in ("from_predictions", "get_metadata_routing", "set_output")
    return True if added else skip


def setup(app):
    """Connect the three functions above."""
    app.connect("build-finished", copy_mathjax)
    app.connect("autodoc-process-docstring", show_guarantees, priority=100)
    app.connect("autodoc-skip-member", leave_out)
