//! Proxies, as the environment names them.

use crate::apis::Api;
use crate::scene::{KEY, Scene, finish};
use dryad_testkit::loopback::Loopback;

/// A host that no name server knows: only a proxy can answer for it.
const NOWHERE: &str = "http://model.invalid/v1";

#[test]
fn a_proxy_in_the_environment_is_asked_for_every_api() {
    for api in Api::ALL {
        let proxy = Loopback::start([api.text("through the proxy")]).unwrap();
        let scene = Scene::with_model(api.name(), NOWHERE);
        let mut command = scene.command(&["-p", "--provider", "mock", "--model", "mock-1", "hi"]);
        let outcome = finish(command.env("HTTP_PROXY", proxy.url()).spawn().unwrap());
        assert_eq!(outcome.done(), "through the proxy\n", "{api:?}");
        let requests = proxy.requests();
        assert_eq!(requests.len(), 1);
        assert!(requests[0].path.starts_with("http://model.invalid/v1"), "{}", requests[0].path);
    }
}

#[test]
fn an_exception_is_asked_directly() {
    let proxy = Loopback::start([]).unwrap();
    let server = Loopback::start([Api::Chat.text("directly")]).unwrap();
    let scene = Scene::with_model(Api::Chat.name(), &format!("{}/v1", server.url()));
    let mut command = scene.command(&["-p", "--provider", "mock", "--model", "mock-1", "hi"]);
    command.env("HTTP_PROXY", proxy.url()).env("NO_PROXY", "127.0.0.1");
    assert_eq!(finish(command.spawn().unwrap()).done(), "directly\n");
    assert!(proxy.requests().is_empty());
}

#[test]
fn a_proxy_that_is_not_there_is_named_and_the_key_is_not() {
    let scene = Scene::with_model(Api::Chat.name(), NOWHERE);
    let mut command = scene.command(&["-p", "--provider", "mock", "--model", "mock-1", "hi"]);
    let complaint = finish(command.env("HTTP_PROXY", "http://127.0.0.1:1").spawn().unwrap()).failed(1);
    assert!(complaint.contains("proxy") && !complaint.contains(KEY), "{complaint}");
}
