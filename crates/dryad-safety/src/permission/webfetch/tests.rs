//! Addresses: what is one, and whose it is.

use super::*;

fn private(address: &str) -> bool {
    match judge(&parse(address).unwrap()) {
        ClassVerdict::Ask { reason, .. } => reason.contains("private"),
        ClassVerdict::Allow(_) => panic!("fetching is never allowed by the class"),
    }
}

#[test]
fn a_domain_covers_itself_and_what_is_below_it_at_a_label_boundary() {
    assert!(is_within("example.com", "example.com"));
    assert!(is_within("docs.example.com", "example.com"));
    assert!(!is_within("evilexample.com", "example.com"));
    assert!(!is_within("example.com.evil.org", "example.com"));
    assert!(!is_within("example.com", "docs.example.com"));
    assert!(!is_within("1.10.0.0.1", "10.0.0.1"));
}

#[test]
fn hosts_are_compared_in_lower_case_without_a_last_dot_and_in_punycode() {
    assert_eq!(host(&parse("https://EXAMPLE.com./x").unwrap()).unwrap(), "example.com");
    assert_eq!(host(&parse("https://bücher.example/").unwrap()).unwrap(), "xn--bcher-kva.example");
    assert_eq!(host(&parse("https://example.com@evil.org/").unwrap()).unwrap(), "evil.org");
    assert_eq!(parse_domain("*.Example.COM").unwrap(), "example.com");
    assert!(parse_domain("exa mple").is_err());
}

#[test]
fn only_http_and_https_are_addresses() {
    for address in
        ["file:///etc/passwd", "ftp://example.com", "javascript:alert(1)", "example.com", "http://", "http:\\\\x"]
    {
        assert!(parse(address).is_err(), "{address}");
    }
}

#[test]
fn this_machine_and_private_networks_are_recognised_however_they_are_written() {
    let addresses = [
        "http://localhost:8080",
        "http://127.0.0.1",
        "http://2130706433",
        "http://0x7f.1",
        "http://0177.0.0.1",
        "http://[::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://10.1.2.3",
        "http://172.16.0.1",
        "http://192.168.1.1",
        "http://169.254.1.1",
        "http://100.64.0.1",
        "http://[fe80::1]/",
        "http://[fd00::1]/",
        "http://[64:ff9b::a00:1]/",
        "http://printer",
        "http://nas.local",
        "http://a.localhost",
        "http://db.internal",
        "http://0.0.0.0",
    ];
    for address in addresses {
        assert!(private(address), "{address}");
    }
    for address in ["https://example.com", "http://8.8.8.8", "http://172.32.0.1", "https://[2606:4700::1111]/"] {
        assert!(!private(address), "{address}");
    }
}

#[test]
fn the_metadata_service_of_a_cloud_is_dangerous() {
    for address in
        ["http://169.254.169.254/latest", "http://[::ffff:169.254.169.254]/", "http://metadata.google.internal/"]
    {
        assert!(find_danger(&parse(address).unwrap()).is_some(), "{address}");
    }
    assert!(find_danger(&parse("http://example.com").unwrap()).is_none());
}
