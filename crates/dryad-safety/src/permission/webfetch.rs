//! The webfetch class: addresses, hosts, and the hosts that are nobody else's business.

use super::engine::ClassVerdict;
use super::rule::Problem;
use serde_json::{Map, Value};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use url::{Host, Url};

/// The address a call names.
pub(super) fn url_of(arguments: &Map<String, Value>) -> Result<Url, String> {
    let text = arguments.get("url").and_then(Value::as_str).ok_or("no url is given")?;
    parse(text)
}

/// Parses an address; only http and https are fetched.
pub(super) fn parse(text: &str) -> Result<Url, String> {
    if text.chars().any(|character| character.is_control() || character == '\\') {
        return Err(format!("{text:?} is no address"));
    }
    let url = Url::parse(text).map_err(|error| format!("{text:?} is no address: {error}"))?;
    match url.scheme() {
        "http" | "https" if url.host().is_some() => Ok(url),
        "http" | "https" => Err(format!("{text:?} names no host")),
        scheme => Err(format!("only http and https are fetched, not {scheme}")),
    }
}

/// The host of an address, lower-case, without a dot at the end.
pub(super) fn host(url: &Url) -> Option<String> {
    url.host_str().map(|host| host.trim_end_matches('.').to_ascii_lowercase())
}

/// The host of a rule.
pub(super) fn parse_domain(text: &str) -> Result<String, Problem> {
    let wrong = || Problem::BadHost(text.to_owned());
    let host = Host::parse(text.trim_start_matches("*.")).map_err(|_| wrong())?;
    let host = host.to_string().trim_end_matches('.').to_ascii_lowercase();
    let usual = |character: char| character.is_ascii_alphanumeric() || "-._:[]".contains(character);
    (!host.is_empty() && host.chars().all(usual)).then_some(host).ok_or_else(wrong)
}

/// Whether a host is the domain or one below it.
pub(super) fn is_within(host: &str, domain: &str) -> bool {
    let above = host.strip_suffix(domain);
    let is_name = domain.parse::<IpAddr>().is_err();
    above.is_some_and(|above| above.is_empty() || is_name && above.ends_with('.'))
}

/// What is dangerous about an address: the service that gives a machine its secrets.
pub(super) fn find_danger(url: &Url) -> Option<String> {
    let host = host(url)?;
    let metadata = match url.host()? {
        Host::Ipv4(address) => is_metadata(address),
        Host::Ipv6(address) => {
            address.to_ipv4_mapped().is_some_and(is_metadata)
                || address == Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)
        }
        Host::Domain(_) => matches!(host.as_str(), "metadata.google.internal" | "metadata" | "instance-data"),
    };
    metadata.then(|| format!("{host} is the metadata service of a cloud"))
}

fn is_metadata(address: Ipv4Addr) -> bool {
    address == Ipv4Addr::new(169, 254, 169, 254) || address == Ipv4Addr::new(100, 100, 100, 200)
}

/// What the class says of fetching an address.
pub(super) fn judge(url: &Url) -> ClassVerdict {
    let host = host(url).unwrap_or_default();
    let private = match url.host() {
        Some(Host::Ipv4(address)) => is_private_v4(address),
        Some(Host::Ipv6(address)) => is_private_v6(address),
        Some(Host::Domain(_)) => {
            let ends = [".localhost", ".local", ".internal", ".lan", ".home.arpa"];
            !host.contains('.') || ends.iter().any(|end| host.ends_with(end))
        }
        None => true,
    };
    match private {
        true => ClassVerdict::ask(format!("{host} is on this machine or in a private network")),
        false => ClassVerdict::ask(format!("it fetches from {host}")),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_unspecified()
        || address.is_broadcast()
        || address.is_multicast()
        || first == 0
        || first == 100 && (64..128).contains(&second)
        || first == 192 && second == 0
        || first == 198 && (18..20).contains(&second)
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    let mapped = address.to_ipv4_mapped().or_else(|| {
        let [a, b, c, d, e, f, high, low] = address.segments();
        let translated = [a, b, c, d, e, f] == [0x64, 0xff9b, 0, 0, 0, 0];
        let [one, two] = high.to_be_bytes();
        let [three, four] = low.to_be_bytes();
        translated.then_some(Ipv4Addr::new(one, two, three, four))
    });
    address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        || address.is_unique_local()
        || address.is_unicast_link_local()
        || mapped.is_some_and(is_private_v4)
}

#[cfg(test)]
mod tests;
