//! The class of a tool that declares none.

use crate::spec::{PermissionClass, ToolSpec};

/// The class whose checks apply to a tool.
pub(super) fn of_tool(tool: &ToolSpec) -> PermissionClass {
    match tool.metadata.permission_class {
        PermissionClass::Undeclared => by_name(&tool.name).unwrap_or(PermissionClass::Generic),
        declared @ (PermissionClass::Bash
        | PermissionClass::File
        | PermissionClass::Webfetch
        | PermissionClass::Readonly
        | PermissionClass::Generic) => declared,
    }
}

/// The class of the tools that are known by name.
pub(super) fn by_name(name: &str) -> Option<PermissionClass> {
    match name {
        "bash" | "shell" => Some(PermissionClass::Bash),
        "write" | "edit" | "ast_edit" | "multi_edit" | "apply_patch" => Some(PermissionClass::File),
        "webfetch" | "web_fetch" | "fetch" => Some(PermissionClass::Webfetch),
        "read" | "ls" | "grep" | "find" | "glob" | "ast_grep" | "todo_write" | "ask" | "tool_search" | "resolve" => {
            Some(PermissionClass::Readonly)
        }
        _ => None,
    }
}
