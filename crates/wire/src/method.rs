//! The methods that exist, each with its types.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::code::{Code, ErrorShape};
use crate::connect::{ConnectParams, HelloOk};
use crate::params::{
    ConfigGetParams, ConfigGetResult, ConfigSetParams, ConfigSetResult, ToolInvokeParams,
    ToolInvokeResult, ToolsListParams, ToolsListResult, WorkspaceDeleteParams,
    WorkspaceDeleteResult, WorkspaceListParams, WorkspaceListResult, WorkspaceReadParams,
    WorkspaceReadResult, WorkspaceWriteParams, WorkspaceWriteResult,
};

/// What a request can ask for. Only methods that are served are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// The first request on every socket.
    Connect,
    /// The tools that the caller may call.
    ToolsList,
    /// Calls a tool.
    ToolInvoke,
    /// Reads settings, secrets masked.
    ConfigGet,
    /// Changes a setting.
    ConfigSet,
    /// Lists a folder of a workspace.
    WorkspaceList,
    /// Reads a file of a workspace.
    WorkspaceRead,
    /// Writes a file of a workspace.
    WorkspaceWrite,
    /// Deletes a file of a workspace.
    WorkspaceDelete,
}

impl Method {
    /// Every method there is.
    pub const ALL: [Self; 9] = [
        Self::Connect,
        Self::ToolsList,
        Self::ToolInvoke,
        Self::ConfigGet,
        Self::ConfigSet,
        Self::WorkspaceList,
        Self::WorkspaceRead,
        Self::WorkspaceWrite,
        Self::WorkspaceDelete,
    ];

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::ToolsList => "tools.list",
            Self::ToolInvoke => "tool.invoke",
            Self::ConfigGet => "config.get",
            Self::ConfigSet => "config.set",
            Self::WorkspaceList => "workspace.list",
            Self::WorkspaceRead => "workspace.read",
            Self::WorkspaceWrite => "workspace.write",
            Self::WorkspaceDelete => "workspace.delete",
        }
    }

    /// What it does, for the reference.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Connect => "The first request on every socket, within 15 seconds.",
            Self::ToolsList => "The tools that the caller may call.",
            Self::ToolInvoke => "Calls a tool; answered when it is done.",
            Self::ConfigGet => "Reads one setting or all of them, secrets masked.",
            Self::ConfigSet => "Changes one setting, if the whole configuration stays right.",
            Self::WorkspaceList => "Lists a folder of an agent's workspace.",
            Self::WorkspaceRead => "Reads a file of an agent's workspace.",
            Self::WorkspaceWrite => "Writes a file of an agent's workspace.",
            Self::WorkspaceDelete => "Deletes a file of an agent's workspace.",
        }
    }

    /// The method called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// Whether a node may call it; anything else it asks for is answered 403.
    pub fn open_to_nodes(self) -> bool {
        matches!(self, Self::Connect | Self::ToolsList)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The parameters of one method, which name it and the type of its result.
pub trait Params: Serialize + DeserializeOwned + JsonSchema {
    /// The method.
    const METHOD: Method;
    /// What it answers with.
    type Result: Serialize + DeserializeOwned + JsonSchema;

    /// Reads the parameters of a request; none counts as an empty object. The
    /// error is ready to be sent back.
    fn read(params: Option<Value>) -> Result<Self, ErrorShape> {
        let params = params.unwrap_or_else(|| Value::Object(serde_json::Map::new()));
        serde_json::from_value(params).map_err(|e| {
            let code = match Self::METHOD {
                Method::Connect => Code::BadConnect,
                _ => Code::BadRequest,
            };
            let method = Self::METHOD;
            ErrorShape::new(code, format!("{method}: the parameters do not fit: {e}"))
        })
    }
}

macro_rules! methods {
    ($($params:ident -> $result:ident: $method:ident,)*) => {
        $(impl Params for $params {
            const METHOD: Method = Method::$method;
            type Result = $result;
        })*
    };
}

methods! {
    ConnectParams -> HelloOk: Connect,
    ToolsListParams -> ToolsListResult: ToolsList,
    ToolInvokeParams -> ToolInvokeResult: ToolInvoke,
    ConfigGetParams -> ConfigGetResult: ConfigGet,
    ConfigSetParams -> ConfigSetResult: ConfigSet,
    WorkspaceListParams -> WorkspaceListResult: WorkspaceList,
    WorkspaceReadParams -> WorkspaceReadResult: WorkspaceRead,
    WorkspaceWriteParams -> WorkspaceWriteResult: WorkspaceWrite,
    WorkspaceDeleteParams -> WorkspaceDeleteResult: WorkspaceDelete,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_lead_back_to_their_methods() {
        for method in Method::ALL {
            assert_eq!(Method::from_name(method.name()), Some(method));
        }
        assert_eq!(Method::from_name("chat.send"), None);
        assert_eq!(Method::from_name("Connect"), None);
    }

    #[test]
    fn a_node_may_connect_and_list_and_nothing_more() {
        let open: Vec<&str> = Method::ALL
            .into_iter()
            .filter(|method| method.open_to_nodes())
            .map(Method::name)
            .collect();
        assert_eq!(open, ["connect", "tools.list"]);
    }

    #[test]
    fn absent_parameters_are_an_empty_object() {
        assert_eq!(ConfigGetParams::read(None), Ok(ConfigGetParams::default()));
        let error = WorkspaceReadParams::read(None).unwrap_err();
        assert_eq!(error.code, 400);
        assert_eq!(
            error.message,
            "workspace.read: the parameters do not fit: missing field `path`"
        );
        let error = ConnectParams::read(Some(json!({ "minProtocol": 1 }))).unwrap_err();
        assert_eq!(error.code, 103);
    }
}
