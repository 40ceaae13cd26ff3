//! Scalars and keys, as kubectl reads them.

// `json` is a function and a macro.
use super::{error, json};

/// The expected values are those of kubectl 1.36.2 (`kubectl annotate --local -o json`).
#[test]
fn plain_scalars_are_read_as_by_kubectl() {
    let table = [
        ("1.0", json!(1)),
        ("0777", json!(511)),
        ("1e3", json!(1000)),
        ("1_000.5", json!(1000.5)),
        ("0o17", json!(15)),
        ("08", json!(8)),
        ("0b11", json!(3)),
        ("-0b11", json!(-3)),
        ("0x1F", json!(31)),
        ("-0x1F", json!(-31)),
        ("+5", json!(5)),
        ("-0777", json!(-511)),
        ("_1", json!("_1")),
        ("1__0", json!(10)),
        (".5", json!(0.5)),
        ("5.", json!(5)),
        ("1e400", json!("1e400")),
        ("9223372036854775807", json!(i64::MAX)),
        ("-9223372036854775808", json!(i64::MIN)),
        ("2001-01-01", json!("2001-01-01")),
        ("2001-01-01T00:00:00Z", json!("2001-01-01T00:00:00Z")),
        ("190:20:30", json!("190:20:30")),
        ("~", json!(null)),
        ("=", json!("=")),
        ("NULL", json!(null)),
        ("nULL", json!("nULL")),
        ("0.0", json!(0)),
        ("-0", json!(0)),
        ("1e21", json!(1e21)),
        ("1.5e300", json!(1.5e300)),
        ("0x", json!("0x")),
        ("0b", json!("0b")),
        ("0", json!(0)),
        ("00", json!(0)),
        ("0_7", json!(7)),
        ("+", json!("+")),
        (".", json!(".")),
        ("+.5", json!(0.5)),
        ("1e", json!("1e")),
        ("e5", json!("e5")),
        ("1E5", json!(100_000)),
        ("0o8", json!("0o8")),
        ("+0x1F", json!(31)),
        ("1.2.3", json!("1.2.3")),
        ("y", json!(true)),
        ("Y", json!(true)),
        ("On", json!(true)),
        ("oN", json!("oN")),
        ("yEs", json!("yEs")),
        ("n", json!(false)),
        ("off", json!(false)),
        ("100m", json!("100m")),
        ("1_", json!(1)),
        ("0b1_1", json!(3)),
        ("0.0000001", json!(1e-7)),
        ("1e-400", json!(0)),
        ("Infinity", json!("Infinity")),
        ("nan", json!("nan")),
        (".iNf", json!(".iNf")),
        ("0x1p3", json!("0x1p3")),
        ("1_0.0_1", json!(10.01)),
        ("._5", json!("._5")),
        (".5_0", json!(0.5)),
        (".5__0", json!(".5__0")),
        (".5_", json!(".5_")),
        (".e5", json!(".e5")),
        (".5e1_0", json!(5_000_000_000_u64)),
        ("0_b1", json!(1)),
        ("0x_1", json!(1)),
        ("0_", json!(0)),
        ("0B11", json!(3)),
        ("0X1F", json!(31)),
        ("0O17", json!(15)),
        ("0b12", json!("0b12")),
        ("0b1.", json!("0b1.")),
        ("-0B1", json!(-1)),
        ("12345678901234567890", json!(12_345_678_901_234_567_890_u64)),
        ("!!str 5", json!("5")),
        ("!!int \"5\"", json!(5)),
        ("!!float 5", json!(5)),
        ("!!binary aGk=", json!("hi")),
        ("!!bool \"yes\"", json!(true)),
        ("!foo bar", json!("bar")),
        ("! 5", json!("5")),
        ("!!null", json!(null)),
        ("!!str", json!("")),
        ("'yes'", json!("yes")),
        ("\"0777\"", json!("0777")),
        ("!!set {a, b}", json!({"a": null, "b": null})),
        ("[a: 1]", json!([{"a": 1}])),
    ];
    for (text, expected) in table {
        assert_eq!(json(&format!("k: {text}\n"))["k"], expected, "{text}");
    }
    for wrong in [
        ".inf",
        "-.Inf",
        ".nan",
        "!!int yes",
        "!!int 1.0",
        "!!bool 5",
        "!!float abc",
        "!!null x",
        "!!binary '@@'",
        "-",
        "@a",
        "*nope",
        "&a [*a]",
    ] {
        error(&format!("k: {wrong}\n"));
    }
}

#[test]
fn keys_become_text_as_with_kubectl() {
    let text = "{n: 0, 1.5: 0, 1.0: 0, 0x10: 0, yes: 0, 1e30: 0, 0.1: 0, 1234567.5: 0, \
                123456789.125: 0, 2001-01-01: 0}";
    let keys: Vec<_> = json(text).as_object().unwrap().keys().cloned().collect();
    let expected = [
        "false",
        "1.5",
        "1",
        "16",
        "true",
        "1e+30",
        "0.1",
        "1.2345675e+06",
        "1.2345679e+08",
        "2001-01-01",
    ];
    assert_eq!(keys, expected);
    for wrong in ["~: 1", "? [a]\n: 1", "? {a: 1}\n: 1", "12345678901234567890: 1"] {
        error(wrong);
    }
}
