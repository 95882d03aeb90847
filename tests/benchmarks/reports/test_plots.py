from xml.etree import ElementTree

from benchmarks.reports.plots import gap_plot, integral_plot, profile_plot

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg):
    return {
        "".join(element.itertext()).strip()
        for element in ElementTree.fromstring(svg).iter(f"{SVG}text")
    }


def test_every_configuration_is_in_the_legend_and_the_axes_are_labelled():
    profiles = {"compact + highs": [(1.0, 0.5), (2.0, 1.0)], "a<b>": [(1.0, 0.0)]}
    found = texts(profile_plot(profiles))
    assert {"compact + highs", "a<b>", "solved [%]"} <= found
    assert {"search", "seconds"} <= texts(gap_plot({"search": [1.0, 0.5, 0.0]}, [0.1, 1.0, 10.0]))


def test_the_bars_carry_their_values():
    found = texts(integral_plot({"search": 0.125, "compact": 12.0}))
    assert {"search", "compact", "0.125", "12"} <= found


def test_the_same_values_give_the_same_text():
    profiles = {"x": [(1.0, 0.5)], "y": [(1.0, 0.5), (3.0, 1.0)]}
    assert profile_plot(profiles) == profile_plot(profiles)
