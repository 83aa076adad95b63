//! Words that belong to one person's machine and not into the repository.

use super::finding::Finding;

/// The home of the superuser. Split, lest this file finds itself.
const ROOT_HOME: &str = concat!("/ro", "ot/");

/// Where the other homes are.
const HOMES: &str = concat!("/ho", "me/");

/// Names that stand for anybody.
const ANYBODY: [&str; 6] = ["user", "me", "you", "name", "alice", "somebody"];

/// Finds absolute paths into somebody's home. Fixtures may hold anything.
pub(crate) fn check(path: &str, text: &str) -> Vec<Finding> {
    if path.contains("/fixtures/") {
        return Vec::new();
    }
    let finding = |(index, line): (usize, &str)| {
        let found = home_path(line)?;
        let advice = "write a relative path, or one under `~`";
        Some(Finding::new(path, index + 1, format!("`{found}` is a place on one machine"), advice))
    };
    text.lines().enumerate().filter_map(finding).collect()
}

fn home_path(line: &str) -> Option<String> {
    // `src/root/` is no home: the path must begin there.
    let begins = |at: usize| line.get(..at).and_then(|before| before.chars().next_back()).is_none_or(|c| !is_name(c));
    if line.match_indices(ROOT_HOME).any(|(at, _)| begins(at)) {
        return Some(ROOT_HOME.to_owned());
    }
    line.match_indices(HOMES).filter(|(at, _)| begins(*at)).find_map(|(at, _)| {
        let rest = line.get(at + HOMES.len()..)?;
        let owner: String = rest.chars().take_while(|character| is_name(*character)).collect();
        let named = !owner.is_empty() && rest.get(owner.len()..)?.starts_with('/');
        (named && !ANYBODY.contains(&owner.as_str())).then(|| format!("{HOMES}{owner}/"))
    })
}

fn is_name(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '-' | '_' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(path, text).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn somebodys_home_is_found() {
        assert_eq!(lines("README.md", &format!("a\ncd {ROOT_HOME}src\n")), [2]);
        assert_eq!(lines("a/b.rs", &format!("\"{HOMES}bob/x\"\n")), [1]);
    }

    #[test]
    fn what_is_nobodys_home_passes() {
        let text = format!("~/x {HOMES}user/x {HOMES}<name>/x {HOMES} src{ROOT_HOME} the{HOMES}page/x");
        assert_eq!(lines("a/b.rs", &text), [0; 0]);
        assert_eq!(lines("a/fixtures/b.txt", &format!("{ROOT_HOME}x")), [0; 0]);
    }
}
