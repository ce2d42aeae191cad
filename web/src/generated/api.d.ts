// Made from docs/openapi.json by `npm run types`; not to be changed by hand.
export interface paths {
    "/.well-known/oauth-protected-resource": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Protected-resource metadata of /mcp */
        get: operations["get_well_known_oauth_protected_resource"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/oauth-protected-resource/mcp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Protected-resource metadata of /mcp */
        get: operations["get_well_known_oauth_protected_resource_mcp"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/oauth-protected-resource/mcp/{server}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Protected-resource metadata of one MCP server */
        get: operations["get_well_known_oauth_protected_resource_mcp_server"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List agents
         * @description Needs the owner's token.
         */
        get: operations["get_api_agents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get an agent with its rules and tools
         * @description Needs the owner's token.
         */
        get: operations["get_api_agents_id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/approvals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List approval requests
         * @description Needs the owner's token.
         */
        get: operations["get_api_approvals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/approvals/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approve or deny a call
         * @description Needs the owner's token.
         */
        post: operations["post_api_approvals_id"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/artifacts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List artifacts, newest first */
        get: operations["get_api_artifacts"];
        put?: never;
        /** Upload an artifact */
        post: operations["post_api_artifacts"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/artifacts/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Download an artifact */
        get: operations["get_api_artifacts_id"];
        put?: never;
        post?: never;
        /** Remove an artifact */
        delete: operations["delete_api_artifacts_id"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/artifacts/{id}/record": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the metadata of an artifact */
        get: operations["get_api_artifacts_id_record"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/artifacts/{id}/url": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Create a temporary download link that needs no token */
        post: operations["post_api_artifacts_id_url"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List audit entries, newest first
         * @description Needs the owner's token.
         */
        get: operations["get_api_audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/audit/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Verify the audit log
         * @description Needs the owner's token.
         */
        post: operations["post_api_audit_verify"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/channels": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List chat accounts and their status
         * @description Needs the owner's token.
         */
        get: operations["get_api_channels"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/channels/{channel}/{account}/bridge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create an account served by a bridge
         * @description Needs the owner's token.
         */
        post: operations["post_api_channels_channel_account_bridge"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/channels/{channel}/{account}/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Set the credentials of an account
         * @description Needs the owner's token.
         */
        post: operations["post_api_channels_channel_account_login"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/channels/{channel}/{account}/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Remove an account and its credentials
         * @description Needs the owner's token.
         */
        post: operations["post_api_channels_channel_account_logout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/channels/{channel}/{account}/start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start or restart an account
         * @description Needs the owner's token.
         */
        post: operations["post_api_channels_channel_account_start"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/channels/{channel}/{account}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop an account
         * @description Needs the owner's token.
         */
        post: operations["post_api_channels_channel_account_stop"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send a message to an agent; one response, or events if accepted */
        post: operations["post_api_chat"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/chat/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stop the running turn of a session */
        post: operations["post_api_chat_stop"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/config": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the settings, with secrets masked
         * @description Needs the owner's token.
         */
        get: operations["get_api_config"];
        /**
         * Set a value
         * @description Needs the owner's token.
         */
        put: operations["put_api_config"];
        post?: never;
        /**
         * Remove a value, so that its default applies
         * @description Needs the owner's token.
         */
        delete: operations["delete_api_config"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/config/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Check a text of config.toml
         * @description Needs the owner's token.
         */
        post: operations["post_api_config_check"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/config/file": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the text of config.toml, with secrets masked
         * @description Needs the owner's token.
         */
        get: operations["get_api_config_file"];
        /**
         * Replace the text of config.toml
         * @description Needs the owner's token.
         */
        put: operations["put_api_config_file"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/config/reload": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Apply changes made in config.toml
         * @description Needs the owner's token.
         */
        post: operations["post_api_config_reload"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/config/schema": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the JSON Schema of the settings
         * @description Needs the owner's token.
         */
        get: operations["get_api_config_schema"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/connections": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List connected accounts
         * @description Needs the owner's token.
         */
        get: operations["get_api_connections"];
        put?: never;
        /**
         * Add an account of a service
         * @description Needs the owner's token.
         */
        post: operations["post_api_connections"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/connections/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get an account
         * @description Needs the owner's token.
         */
        get: operations["get_api_connections_id"];
        /**
         * Change an account
         * @description Needs the owner's token.
         */
        put: operations["put_api_connections_id"];
        post?: never;
        /**
         * Remove an account and its credentials
         * @description Needs the owner's token.
         */
        delete: operations["delete_api_connections_id"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/connections/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Test an account
         * @description Needs the owner's token.
         */
        post: operations["post_api_connections_id_test"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/contacts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List contacts
         * @description Needs the owner's token.
         */
        get: operations["get_api_contacts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/contacts/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a contact
         * @description Needs the owner's token.
         */
        get: operations["get_api_contacts_id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/directory/servers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List well-known MCP servers that can be added
         * @description Needs the owner's token.
         */
        get: operations["get_api_directory_servers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/doctor": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Run health checks, with a remedy for each problem
         * @description Needs the owner's token.
         */
        get: operations["get_api_doctor"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/enrol": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Redeem an enrolment code for the node's own token */
        post: operations["post_api_enrol"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/inbox": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List incoming messages that could not be processed
         * @description Needs the owner's token.
         */
        get: operations["get_api_inbox"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/inbox/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry an incoming message
         * @description Needs the owner's token.
         */
        post: operations["post_api_inbox_id_retry"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/memory": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Search conversations and memory files */
        get: operations["get_api_memory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List providers and their models
         * @description Needs the owner's token.
         */
        get: operations["get_api_models"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/models/detect": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Find model servers on the gateway's machine
         * @description Needs the owner's token.
         */
        get: operations["get_api_models_detect"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/models/makers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List provider presets
         * @description Needs the owner's token.
         */
        get: operations["get_api_models_makers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/models/providers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add a provider from a preset, or change its key
         * @description Needs the owner's token.
         */
        post: operations["post_api_models_providers"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/models/providers/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove a provider
         * @description Needs the owner's token.
         */
        delete: operations["delete_api_models_providers_name"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/models/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Test a model
         * @description Needs the owner's token.
         */
        post: operations["post_api_models_test"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/nodes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List nodes */
        get: operations["get_api_nodes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/nodes/codes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a one-time enrolment code for a node
         * @description Needs the owner's token.
         */
        post: operations["post_api_nodes_codes"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/nodes/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove a node and revoke its own token
         * @description Needs the owner's token.
         */
        delete: operations["delete_api_nodes_id"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/nodes/{id}/rename": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rename a node
         * @description Needs the owner's token.
         */
        post: operations["post_api_nodes_id_rename"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/nodes/{id}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revoke a node's own token and disconnect it
         * @description Needs the owner's token.
         */
        post: operations["post_api_nodes_id_revoke"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get this document, with the tools this token may call */
        get: operations["get_api_openapi_json"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/outbox": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List outgoing messages that are queued or undelivered
         * @description Needs the owner's token.
         */
        get: operations["get_api_outbox"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/outbox/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Drop an undelivered message
         * @description Needs the owner's token.
         */
        delete: operations["delete_api_outbox_id"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/outbox/{id}/resend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry an undelivered message
         * @description Needs the owner's token.
         */
        post: operations["post_api_outbox_id_resend"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/pairs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List pairing requests, pending and decided
         * @description Needs the owner's token.
         */
        get: operations["get_api_pairs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/pairs/{channel}/{who}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove a paired person
         * @description Needs the owner's token.
         */
        delete: operations["delete_api_pairs_channel_who"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/pairs/{channel}/{who}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approve a pairing request, by id or code
         * @description Needs the owner's token.
         */
        post: operations["post_api_pairs_channel_who_approve"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/pairs/{channel}/{who}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reject a pairing request
         * @description Needs the owner's token.
         */
        post: operations["post_api_pairs_channel_who_reject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/policy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the policy rules
         * @description Needs the owner's token.
         */
        get: operations["get_api_policy"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/policy/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Evaluate the rules for a call
         * @description Needs the owner's token.
         */
        post: operations["post_api_policy_explain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/resources": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List resources
         * @description Needs the owner's token.
         */
        get: operations["get_api_resources"];
        put?: never;
        /**
         * Create a resource
         * @description Needs the owner's token.
         */
        post: operations["post_api_resources"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/resources/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a resource and its grants
         * @description Needs the owner's token.
         */
        get: operations["get_api_resources_id"];
        put?: never;
        post?: never;
        /**
         * Remove a resource and its contents
         * @description Needs the owner's token.
         */
        delete: operations["delete_api_resources_id"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/resources/{id}/grants/{agent}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Grant an agent access to a resource
         * @description Needs the owner's token.
         */
        put: operations["put_api_resources_id_grants_agent"];
        post?: never;
        /**
         * Revoke an agent's access to a resource
         * @description Needs the owner's token.
         */
        delete: operations["delete_api_resources_id_grants_agent"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/resources/{id}/secrets/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Store a secret in a vault
         * @description Needs the owner's token.
         */
        put: operations["put_api_resources_id_secrets_name"];
        post?: never;
        /**
         * Remove a secret from a vault
         * @description Needs the owner's token.
         */
        delete: operations["delete_api_resources_id_secrets_name"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/rules/templates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List ready-made rules
         * @description Needs the owner's token.
         */
        get: operations["get_api_rules_templates"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Search the messages of sessions as somebody types */
        get: operations["get_api_search"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the names of secrets
         * @description Needs the owner's token.
         */
        get: operations["get_api_secrets"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/secrets/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Store a secret
         * @description Needs the owner's token.
         */
        put: operations["put_api_secrets_name"];
        post?: never;
        /**
         * Remove a secret
         * @description Needs the owner's token.
         */
        delete: operations["delete_api_secrets_name"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/servers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List MCP servers
         * @description Needs the owner's token.
         */
        get: operations["get_api_servers"];
        put?: never;
        /**
         * Add an MCP server
         * @description Needs the owner's token.
         */
        post: operations["post_api_servers"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/servers/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List MCP servers of other programs on the gateway's machine
         * @description Needs the owner's token.
         */
        get: operations["get_api_servers_import"];
        put?: never;
        /**
         * Import MCP servers of another program
         * @description Needs the owner's token.
         */
        post: operations["post_api_servers_import"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/servers/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Show what adding an MCP server would do
         * @description Needs the owner's token.
         */
        post: operations["post_api_servers_preview"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/servers/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get an MCP server with its tools and definitions held back
         * @description Needs the owner's token.
         */
        get: operations["get_api_servers_name"];
        /**
         * Enable or disable an MCP server and its tools
         * @description Needs the owner's token.
         */
        put: operations["put_api_servers_name"];
        post?: never;
        /**
         * Remove an MCP server
         * @description Needs the owner's token.
         */
        delete: operations["delete_api_servers_name"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/servers/{name}/accept": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Accept the current tool definitions of an MCP server
         * @description Needs the owner's token.
         */
        post: operations["post_api_servers_name_accept"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/servers/{name}/log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the last log lines of an MCP server
         * @description Needs the owner's token.
         */
        get: operations["get_api_servers_name_log"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/servers/{name}/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the status of the last login at an MCP server
         * @description Needs the owner's token.
         */
        get: operations["get_api_servers_name_login"];
        put?: never;
        /**
         * Start a login at an MCP server; returns the URL to open in a browser
         * @description Needs the owner's token.
         */
        post: operations["post_api_servers_name_login"];
        /**
         * Log out of an MCP server
         * @description Needs the owner's token.
         */
        delete: operations["delete_api_servers_name_login"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/servers/{name}/refresh": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Refresh the tools of an MCP server
         * @description Needs the owner's token.
         */
        post: operations["post_api_servers_name_refresh"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the current caller */
        get: operations["get_api_session"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/session/link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a one-time login link for a browser
         * @description Needs the owner's token.
         */
        post: operations["post_api_session_link"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/session/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Log a browser in with the code of a login link */
        post: operations["post_api_session_login"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/session/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Log this browser out */
        post: operations["post_api_session_logout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List sessions, last used first */
        get: operations["get_api_sessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a session */
        get: operations["get_api_sessions_key"];
        put?: never;
        post?: never;
        /** Delete a session with its messages and archives; stops its running turn */
        delete: operations["delete_api_sessions_key"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{key}/branch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Create a session with the messages before a user message */
        post: operations["post_api_sessions_key_branch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{key}/compact": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Compact a session: archive all but the last messages */
        post: operations["post_api_sessions_key_compact"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{key}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the last messages of a session, oldest first */
        get: operations["get_api_sessions_key_messages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{key}/patch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Change the settings of a session */
        post: operations["post_api_sessions_key_patch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{key}/pictures/{seq}/{index}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a picture of a session by its `ref` in a message */
        get: operations["get_api_sessions_key_pictures_seq_index"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{key}/reset": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Reset a session; its messages are archived */
        post: operations["post_api_sessions_key_reset"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{key}/rewind": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Rewind a session to before a user message; what follows is archived */
        post: operations["post_api_sessions_key_rewind"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{key}/tree": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the sub-agent sessions that a session started */
        get: operations["get_api_sessions_key_tree"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/skills": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the skills of an agent and their status */
        get: operations["get_api_skills"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/skills/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a skill with its text */
        get: operations["get_api_skills_name"];
        put?: never;
        /**
         * Enable or disable a skill
         * @description Needs the owner's token.
         */
        post: operations["post_api_skills_name"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/todos": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List open, completed and recurring to-dos
         * @description Needs the owner's token.
         */
        get: operations["get_api_todos"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List tokens
         * @description Needs the owner's token.
         */
        get: operations["get_api_tokens"];
        put?: never;
        /**
         * Create a token
         * @description Needs the owner's token.
         */
        post: operations["post_api_tokens"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tokens/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke a token
         * @description Needs the owner's token.
         */
        delete: operations["delete_api_tokens_id"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the tools this token may call */
        get: operations["get_api_tools"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/capabilities_discover": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Discover available capabilities for a task
         * @description Discover available capabilities for a task. Returns lightweight recommendations for tools, agent skills, connections,
         *     and/or resources. Call capability_details to get full details for selected items. Use "types" to filter by capability type.
         *
         *     Every recommended item comes with its id (PCID for connections, collectionId for resources). If the response includes
         *     alternativesAvailable (e.g., {"gmail": 2}), there are several connections for that service and only one was picked: call
         *     gateway_list_workspace to see all.
         */
        post: operations["capabilities_discover"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/contacts_send": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a single message to one contact, routed by itself to where they can be reached
         * @description Send a single message to one contact, routed by itself to where they can be reached. To read contacts, use `read_file` on
         *     `file_state_dir/contacts/ACTIVE.md` and `file_state_dir/contacts/INACTIVE.md`; to change them, use `write_file`. Never use it to
         *     answer whoever is talking to you.
         */
        post: operations["contacts_send"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/gsv__ReadFile": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Read a file or list a directory in the agent's workspace
         * @description Read a file or list a directory in the agent's workspace. Paths under `skills/` show
         *     the agent's own copy where there is one and the global skill otherwise; listings merge both.
         */
        post: operations["gsv__ReadFile"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/gsv__WriteFile": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Write or create a file in the agent's workspace
         * @description Write or create a file in the agent's workspace. Parent directories are created. Writing
         *     under `skills/` makes or updates the agent's own copy and leaves the global skill alone.
         */
        post: operations["gsv__WriteFile"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/todo_update": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Maintain `TODO
         * @description Maintain `TODO.md` and `TODO.DONE.md` under `file_state_dir`: write an item down, tick one off, or write down what
         *     comes again (`TODO.RECUR.md`).
         */
        post: operations["todo_update"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tools/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Call a tool */
        post: operations["post_api_tools_name"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/transcribe": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Transcribe a recording: the body, with a Content-Type of audio/* */
        post: operations["post_api_transcribe"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trigger/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Call a tool by its trigger id */
        post: operations["post_api_trigger_id"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/trust": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List objects influenced by untrusted text
         * @description Needs the owner's token.
         */
        get: operations["get_api_trust"];
        put?: never;
        /**
         * Trust an object in its current state
         * @description Needs the owner's token.
         */
        post: operations["post_api_trust"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the usage of models
         * @description Needs the owner's token.
         */
        get: operations["get_api_usage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/usage/calls": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get call counts and durations by day and tool
         * @description Needs the owner's token.
         */
        get: operations["get_api_usage_calls"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/artifacts/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Download an artifact by a valid link */
        get: operations["get_artifacts_id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Liveness probe */
        get: operations["get_healthz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/hooks/{channel}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Webhook of a platform; authenticated by its signature */
        post: operations["post_hooks_channel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/hooks/{channel}/{account}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Webhook of a platform, for an account other than default */
        post: operations["post_hooks_channel_account"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Prometheus metrics; without a token only if `metrics.open` is set */
        get: operations["get_metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/oauth/callback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** OAuth callback of a login; an HTML page */
        get: operations["get_oauth_callback"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/oauth/client.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Client id metadata document of the gateway */
        get: operations["get_oauth_client_json"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Readiness probe */
        get: operations["get_readyz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chat/completions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send a chat completion request to an agent, optionally streamed */
        post: operations["post_v1_chat_completions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send an Anthropic Messages request to an agent, optionally streamed */
        post: operations["post_v1_messages"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages/count_tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Estimate the tokens of a conversation in Anthropic's format */
        post: operations["post_v1_messages_count_tokens"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the agents as OpenAI models */
        get: operations["get_v1_models"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get an agent as an OpenAI model */
        get: operations["get_v1_models_id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/responses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send an OpenAI Responses request to an agent, optionally streamed */
        post: operations["post_v1_responses"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description Who decided to make a call. */
        Actor: {
            /** @description What it is. */
            kind: components["schemas"]["ActorKind"];
            /** @description Name of the token, agent, job or node; for somebody in a chat, the channel and id. */
            name: string;
        };
        /** @description What kind of caller it was. */
        ActorKind: "person" | "agent" | "token" | "node" | "gateway";
        /** @description A list of agents. */
        AgentList: {
            /** @description Agents, `main` first. */
            agents: components["schemas"]["AgentView"][];
            /**
             * Format: uint
             * @description Number of agents.
             */
            count: number;
        };
        /** @description The response with an agent. */
        AgentShown: {
            /** @description The agent. */
            agent: components["schemas"]["AgentTools"];
        };
        /** @description An agent with its tools. */
        AgentTools: {
            /** @description Tools its model is given. */
            directTools: string[];
            /** @description Tools it must discover first, by pattern. */
            discover: components["schemas"]["Pattern"][];
            /** @description Tools it can discover. */
            discoveredTools: string[];
            /** @description Which of its sessions receive direct messages. */
            dmScope: components["schemas"]["DmScope"];
            /** @description Name. */
            id: string;
            /** @description The agent that spawned it, if any. */
            madeBy?: string | null;
            /** @description Model, as `provider/model`. */
            model: string | null;
            /** @description Its own rules. */
            policy: components["schemas"]["Rule"][];
            /** @description When its sessions are reset automatically. */
            reset: components["schemas"]["Reset"];
            /** @description Extra system prompt, besides the files of its workspace. */
            systemPrompt: string | null;
            /** @description Reasoning level. */
            thinking: components["schemas"]["ThinkingLevel"] | null;
            /** @description Tools its model is given, by pattern. */
            tools: components["schemas"]["Pattern"][];
            /** @description Agent whose workspace it uses. */
            workspace: string;
        };
        /** @description The settings of an agent. */
        AgentView: {
            /** @description Tools it must discover first, by pattern. */
            discover: components["schemas"]["Pattern"][];
            /** @description Which of its sessions receive direct messages. */
            dmScope: components["schemas"]["DmScope"];
            /** @description Name. */
            id: string;
            /** @description Model, as `provider/model`. */
            model: string | null;
            /** @description Its own rules. */
            policy: components["schemas"]["Rule"][];
            /** @description When its sessions are reset automatically. */
            reset: components["schemas"]["Reset"];
            /** @description Extra system prompt, besides the files of its workspace. */
            systemPrompt: string | null;
            /** @description Reasoning level. */
            thinking: components["schemas"]["ThinkingLevel"] | null;
            /** @description Tools its model is given, by pattern. */
            tools: components["schemas"]["Pattern"][];
            /** @description Agent whose workspace it uses. */
            workspace: string;
        };
        /** @description An approval request, with exactly what will run. */
        Approval: {
            /** @description Agent the call is made for. */
            agent: string;
            /** @description Arguments of the call. */
            arguments: unknown;
            /** @description Name of the requester. */
            caller: string;
            /** @description When it was requested. */
            createdAt: string;
            /** @description When it was decided. */
            decidedAt: string | null;
            /** @description Who decided it. */
            decidedBy: string | null;
            /** @description The change of an edit or a patch, as a unified diff. */
            diff: string | null;
            /** @description Effects of the call. */
            effects: components["schemas"]["Effects"];
            /** @description When it expires. */
            expiresAt: string;
            /**
             * Format: uuid
             * @description Id used to decide it.
             */
            id: string;
            /** @description The owner's message. */
            message: string | null;
            /** @description The rule `always` would add, as it would appear in `policy.rules`. */
            proposedRule: unknown;
            /** @description The owner's words beside that rule. */
            reason: string | null;
            /** @description The rule that asked. */
            rule: string;
            /** @description The rule that asked, with its text. */
            ruleShown: components["schemas"]["RuleShown"];
            /** @description Scope of the approval. */
            scope: components["schemas"]["ApprovalScope"];
            /** @description Session it belongs to, if any. */
            sessionKey: string | null;
            /**
             * @description `pending`, `approved`, `denied`, `used`, `expired`, or `withdrawn` if the requester
             *     continued without it.
             */
            state: string;
            /** @description Untrusted text read before the call was requested. */
            taintedBy: string | null;
            /** @description First line of the message that the agent works on. */
            task: string | null;
            /** @description The tool. */
            tool: string;
        };
        /** @description The response with a decided request. */
        ApprovalDecided: {
            /** @description The question. */
            approval: components["schemas"]["Approval"];
        };
        /** @description A list of approval requests. */
        ApprovalList: {
            /** @description Requests, newest first. */
            approvals: components["schemas"]["Approval"][];
        };
        /** @description How far an approval reaches. */
        ApprovalScope: "once" | "conversation" | "always";
        /** @description A download link. */
        ArtifactLink: {
            /** @description When it expires. */
            expires: string;
            /** @description URL that needs no token. */
            url: string;
        };
        /** @description A list of artifacts. */
        ArtifactList: {
            /** @description Artifacts, newest first. */
            artifacts: components["schemas"]["ArtifactRecord"][];
        };
        /** @description What is known of an artifact. */
        ArtifactRecord: {
            /** @description Whose it is. */
            agent: string;
            /**
             * Format: uuid
             * @description The call that made it.
             */
            call: string;
            /** @description Whoever made that call, by key: others may not read it. */
            caller: string;
            /**
             * Format: uuid
             * @description The chat it is in.
             */
            chat?: string | null;
            /** @description When it was made. */
            created: components["schemas"]["Timestamp"];
            /** @description When it may be removed. */
            expires: components["schemas"]["Timestamp"] | null;
            /**
             * Format: uuid
             * @description Its id.
             */
            id: string;
            /** @description Its media type. */
            mime: string;
            /** @description Its name, for people. */
            name: string;
            /** @description Its SHA-256, in hex. */
            sha256: string;
            /**
             * Format: uint64
             * @description Its size in bytes.
             */
            size: number;
        };
        /** @description The response after an artifact was removed. */
        ArtifactRemoved: {
            /**
             * Format: uuid
             * @description Its id.
             */
            id: string;
            /** @description Always true. */
            removed: boolean;
        };
        /** @description What happened. */
        AuditKind: "started" | "finished" | "refused" | "event";
        /** @description A list of audit entries. */
        AuditList: {
            /** @description Entries, newest first. */
            entries: components["schemas"]["AuditView"][];
        };
        /** @description A problem. */
        AuditProblem: {
            /**
             * Format: int64
             * @description The entry.
             */
            seq: number;
            /** @description What is wrong. */
            what: string;
        };
        /** @description How it ended. */
        AuditStatus: "" | "ok" | "error";
        /** @description Result of a verification. */
        AuditVerdict: {
            /**
             * Format: uint64
             * @description Number of checked entries.
             */
            checked: number;
            /**
             * Format: uint64
             * @description Number of further problems.
             */
            more_problems: number;
            /** @description Whether there are no problems. */
            ok: boolean;
            /** @description The problems, at most 100. */
            problems: components["schemas"]["AuditProblem"][];
            /**
             * Format: uint64
             * @description Number of entries that retention removed, as its sealed checkpoint proves.
             */
            removed: number;
        };
        /** @description An audit entry with who it was. */
        AuditView: {
            /** @description Who decided to make the call, where that was not the caller itself: `agent:main` in a turn, or `job:ID`. */
            actor?: string | null;
            /** @description The agent. */
            agent: string;
            /** @description Hex SHA-256 of the canonical arguments. */
            argumentsDigest: string;
            /** @description When. */
            at: components["schemas"]["Timestamp"];
            /**
             * Format: uuid
             * @description The call.
             */
            call: string | null;
            /** @description The caller's key. */
            caller: string;
            /** @description The stable code of an error, or how the program of a terminal ended, such as `exit 3`. */
            code: string;
            /**
             * Format: uint64
             * @description Duration in microseconds.
             */
            durationUs: number | null;
            /** @description Effects of the call. */
            effects: components["schemas"]["Effects"];
            /** @description The hash that links it to all before it, in hex. */
            hash: string;
            /** @description What happened. */
            kind: components["schemas"]["AuditKind"];
            /**
             * Format: int64
             * @description Its number, from 1 without gaps.
             */
            seq: number;
            /** @description The session whose turn made the call. */
            session?: string | null;
            /** @description Its status. */
            status: components["schemas"]["AuditStatus"];
            /** @description A short text, already redacted; cut at 2 KiB. */
            summary: string;
            /** @description The tool. */
            tool: string;
            /** @description Who decided to make the call. */
            who: components["schemas"]["Actor"];
        };
        /** @description The new session. */
        Branched: {
            /** @description Its key. */
            sessionKey: string;
        };
        /** @description An account served by a bridge. */
        BridgeMade: {
            /** @description Account name. */
            accountId: string;
            /** @description Name of the service. */
            channel: string;
            /** @description The bridge's token, shown once; null if it already has one. */
            token?: string | null;
        };
        /** @description Limits of the evaluation. */
        CallBound: {
            /**
             * Format: uint32
             * @description Calls counted, latest first.
             */
            calls: number;
            /**
             * Format: uint32
             * @description Tools per day, most used first.
             */
            tools: number;
        };
        /** @description Call statistics of a day. */
        CallDay: {
            /**
             * Format: uint64
             * @description Finished calls.
             */
            calls: number;
            /** @description The day. */
            day: string;
            /**
             * Format: uint64
             * @description Failed calls.
             */
            errors: number;
            /**
             * Format: double
             * @description Median duration, in milliseconds.
             */
            p50Ms: number | null;
            /**
             * Format: double
             * @description 95th percentile of the duration, in milliseconds.
             */
            p95Ms: number | null;
        };
        /** @description Call statistics of a tool on a day. */
        CallTool: {
            /**
             * Format: uint64
             * @description Finished calls.
             */
            calls: number;
            /** @description The day. */
            day: string;
            /**
             * Format: uint64
             * @description Failed calls.
             */
            errors: number;
            /**
             * Format: double
             * @description Median duration, in milliseconds.
             */
            p50Ms: number | null;
            /**
             * Format: double
             * @description 95th percentile of the duration, in milliseconds.
             */
            p95Ms: number | null;
            /** @description The tool. */
            tool: string;
        };
        /** @description Call statistics. */
        CallUsage: {
            /** @description Limits of the evaluation. */
            bound: components["schemas"]["CallBound"];
            /** @description Whether the limits covered all calls. */
            complete: boolean;
            /** @description Totals of each day with calls, earliest first. */
            days: components["schemas"]["CallDay"][];
            /** @description First day, in the configured time zone. */
            since: string;
            /** @description Totals of each tool per day; earliest day first, most used tool first. */
            tools: components["schemas"]["CallTool"][];
        };
        /** @description A list of chat accounts. */
        ChannelList: {
            /** @description The accounts. */
            channels: components["schemas"]["ChannelView"][];
            /**
             * Format: uint
             * @description Number of accounts.
             */
            count: number;
            /** @description Incoming messages not processed yet. */
            inbox: components["schemas"]["InboxCount"];
            /** @description Outgoing messages not delivered. */
            outbox: components["schemas"]["OutboxCount"];
        };
        /** @description The response after a login. */
        ChannelLogin: {
            /** @description Account name. */
            accountId: string;
            /** @description Platform. */
            channel: string;
            /** @description Handle on the platform. */
            handle: string | null;
            /** @description Id on the platform. */
            id: string;
            /** @description Display name on the platform. */
            name: string;
        };
        /** @description The response after a logout. */
        ChannelLogout: {
            /** @description Account name. */
            accountId: string;
            /** @description Platform. */
            channel: string;
            /** @description Always true. */
            loggedOut: boolean;
        };
        /** @description The response after an account was started. */
        ChannelStarted: {
            /** @description Account name. */
            accountId: string;
            /** @description Platform. */
            channel: string;
            /** @description Always true. */
            started: boolean;
        };
        /** @description The response after an account was stopped. */
        ChannelStopped: {
            /** @description Account name. */
            accountId: string;
            /** @description Platform. */
            channel: string;
            /** @description Always true. */
            stopped: boolean;
        };
        /** @description A chat account. */
        ChannelView: {
            /** @description Account name. */
            accountId: string;
            /** @description Platform. */
            channel: string;
            /** @description What is wrong, if anything. */
            detail: string | null;
            /** @description Handle on the platform. */
            handle: string | null;
            /** @description Id on the platform. */
            id: string | null;
            /** @description When a message was last sent or received. */
            lastMessageAt: components["schemas"]["Timestamp"] | null;
            /** @description Display name on the platform. */
            name: string | null;
            /** @description When it entered this state. */
            since: components["schemas"]["Timestamp"] | null;
            /** @description `off`, `stopped`, `connecting`, `connected` or `error`. */
            state: string;
        };
        /** @description The outcome of a message. */
        ChatAnswer: components["schemas"]["ChatAnswered"] | components["schemas"]["ChatCommand"] | components["schemas"]["ChatPaused"];
        /** @description A reply of the agent. */
        ChatAnswered: {
            /** @description Run id. */
            runId: string;
            /** @description The session. */
            sessionKey: components["schemas"]["SessionKey"];
            /** @description It is done. */
            status: "done";
            /** @description Why the model stopped. */
            stopReason: components["schemas"]["StopReason"];
            /** @description Text of the reply. */
            text: string;
            /** @description Usage of the turn. */
            usage: components["schemas"]["TurnUsage"];
        };
        /** @description A slash command and its result. */
        ChatCommand: {
            /** @description Name without its slash. */
            command: string;
            /** @description Why it failed. */
            error: string | null;
            /** @description The session. */
            sessionKey: components["schemas"]["SessionKey"];
            /** @description It is done. */
            status: "done";
            /** @description Result as text. */
            text: string;
        };
        /** @description A run that needs the owner's approval. */
        ChatPaused: {
            /**
             * Format: uuid
             * @description Id of the approval request.
             */
            approvalId: string;
            /** @description Arguments of the call. */
            arguments: unknown;
            /** @description Run id. */
            runId: string;
            /** @description The session. */
            sessionKey: components["schemas"]["SessionKey"];
            /** @description It waits. */
            status: "paused";
            /** @description The tool. */
            tool: string;
        };
        /** @description The response after a stop. */
        ChatStopped: {
            /** @description The session. */
            sessionKey: components["schemas"]["SessionKey"];
            /** @description Whether a turn was running. */
            stopped: boolean;
        };
        /** @description The servers of a program on the gateway's machine. */
        ClientServers: {
            /** @description The program, as `client` of an import. */
            client: string;
            /** @description The file with them. */
            file: string;
            /** @description Servers that can be imported. */
            servers: components["schemas"]["ServerPreview"][];
            /** @description Servers that cannot. */
            skipped: components["schemas"]["SkippedView"][];
            /** @description Its display name. */
            title: string;
        };
        /** @description Kind of collection. */
        CollectionKind: "datastore" | "filestore" | "knowledge" | "vault";
        /** @description A collection. */
        CollectionRecord: {
            /**
             * Format: uint64
             * @description How many bytes they have; those of secrets are not counted.
             */
            bytes: number;
            /**
             * Format: uuid
             * @description Its id.
             */
            collectionId: string;
            /** @description When it was made. */
            created: components["schemas"]["Timestamp"];
            /** @description What it is for. */
            description: string;
            /**
             * Format: uint64
             * @description How many rows, files, documents or secrets it holds.
             */
            items: number;
            /** @description What it holds. */
            kind: components["schemas"]["CollectionKind"];
            /** @description Its name, the only one of its kind. */
            name: string;
            /** @description When what it holds last changed. */
            updated: components["schemas"]["Timestamp"];
        };
        /** @description The result of a check. */
        ConfigChecked: {
            /** @description What keeps the text from being written; empty if nothing does. */
            problems: components["schemas"]["ConfigProblem"][];
        };
        /** @description The text of config.toml. */
        ConfigFileText: {
            /** @description The text, with secrets masked as `***`. */
            text: string;
            /** @description Its version, for a write. */
            version: string;
        };
        /** @description The response after config.toml was replaced. */
        ConfigFileWritten: {
            /** @description Keys whose values changed. */
            changed: string[];
            /** @description Keys that take effect after a restart. */
            needsRestart: string[];
            /** @description The new version. */
            version: string;
        };
        /** @description Something wrong in a text. */
        ConfigProblem: {
            /** @description Dotted key; empty for a syntax error. */
            key: string;
            /**
             * Format: uint
             * @description Line, counted from 1, if it has one.
             */
            line: number | null;
            /** @description What is wrong. */
            message: string;
        };
        /** @description Changes applied from config.toml. */
        ConfigReloaded: {
            /** @description Keys whose values changed. */
            changed: string[];
            /** @description Keys that take effect after a restart. */
            needsRestart: string[];
        };
        /** @description The schema of the settings. */
        ConfigSchema: {
            /**
             * @description JSON Schema of the settings. `description` explains a key and `default` gives its default;
             *     `x-secret` marks values masked when read, `x-restart` those that need a restart, and
             *     `x-local` those that can only be set in the file.
             */
            schema: unknown;
        };
        /** @description The response after a value was changed. */
        ConfigSet: {
            /** @description Keys that take effect after a restart. */
            needsRestart: string[];
            /** @description Always true. */
            ok: boolean;
            /** @description The dotted path. */
            path: string;
        };
        /** @description Settings, secrets masked. */
        ConfigShown: {
            /** @description Its dotted path. */
            path: string;
            /** @description The value. */
            value: unknown;
        } | {
            /** @description The settings as they would appear in config.toml. */
            config: unknown;
        };
        /** @description How an account logs in. */
        ConnectionKind: "keys" | "oauth";
        /** @description A list of accounts. */
        ConnectionList: {
            /** @description The accounts. */
            connections: components["schemas"]["ConnectionRecord"][];
            /**
             * Format: uint
             * @description Number of accounts.
             */
            count: number;
        };
        /** @description One account of one service. */
        ConnectionRecord: {
            /** @description The agents that may use it. */
            agents: string[];
            /** @description When it was last tried. */
            checked: components["schemas"]["Timestamp"] | null;
            /** @description When it was made. */
            created: components["schemas"]["Timestamp"];
            /** @description What went wrong, if something did. */
            detail: string;
            /** @description The names of its credentials. */
            fields: string[];
            /** @description How it is opened. */
            kind: components["schemas"]["ConnectionKind"];
            /** @description What the owner calls it. */
            name: string;
            /**
             * Format: uuid
             * @description Its id, by which a call chooses it.
             */
            pcid: string;
            /** @description The service. */
            service: string;
            /** @description Whether it works. */
            status: components["schemas"]["ConnectionStatus"];
        };
        /** @description The response after an account was removed. */
        ConnectionRemoved: {
            /**
             * Format: uuid
             * @description Its id.
             */
            pcid: string;
            /** @description Always true. */
            removed: boolean;
        };
        /** @description Last known status of an account. */
        ConnectionStatus: "connected" | "error" | "disconnected";
        /** @description A contact. */
        Contact: {
            /** @description Whether it is active. */
            active: boolean;
            /** @description The preferred platform, such as `telegram`. */
            channel?: string;
            /**
             * @description The permanent id, such as `tg:90001`.
             * @default
             */
            contact_id: string;
            /** @description No messages are sent before this time, as after a failed delivery. */
            cooldown_until?: string;
            /** @description Discord channels in which they were seen. */
            discord_channel_ids?: string[];
            /** @description Direct-message channel on Discord. */
            discord_dm_channel_id?: string;
            /** @description Discord user id. */
            discord_user_id?: string;
            /** @description Discord username. */
            discord_username?: string;
            /** @description `human` or `agent`. */
            kind?: string;
            /** @description Lark chats. */
            lark_chat_ids?: string[];
            /** @description Lark open id. */
            lark_open_id?: string;
            /** @description Time of their last message. */
            last_interaction_at?: string;
            /** @description LINE chats in which they were seen. */
            line_chat_ids?: string[];
            /** @description LINE user id. */
            line_user_id?: string;
            /** @description Display name. */
            nickname?: string;
            /** @description Short description of the person. */
            persona_brief?: string;
            /** @description Addresses it can be reached at. */
            reachable_ids: string[];
            /** @description Slack channels in which they were seen. */
            slack_channel_ids?: string[];
            /** @description Direct-message channel on Slack. */
            slack_dm_channel_id?: string;
            /** @description Slack workspace. */
            slack_team_id?: string;
            /** @description Slack user id. */
            slack_user_id?: string;
            /** @description Telegram groups in which they were seen. */
            tg_group_chat_ids?: string[];
            /** @description Private chat on Telegram. */
            tg_private_chat_id?: string;
            /** @description Telegram username, without `@`. */
            tg_username?: string;
            /** @description Preferred topics. */
            topic_preferences?: string[];
            /** @description WhatsApp id. */
            wa_id?: string;
        };
        /** @description A list of contacts. */
        ContactList: {
            /** @description Contacts, active ones first. */
            contacts: components["schemas"]["Contact"][];
            /**
             * Format: uint
             * @description Number of contacts.
             */
            count: number;
        };
        /** @description The response with a contact. */
        ContactShown: {
            /** @description The contact. */
            contact: components["schemas"]["Contact"];
        };
        /** @description One piece of content, in the shapes MCP and model APIs share. */
        ContentBlock: {
            /** @description The text. */
            text: string;
            /** @constant */
            type: "text";
        } | {
            /** @description The bytes in base64. */
            data: string;
            /** @description For example `image/png`. */
            mimeType: string;
            /** @constant */
            type: "image";
        } | {
            /** @description For example `application/json`. */
            mimeType?: string | null;
            /** @description What to call it. */
            name: string;
            /**
             * Format: uint64
             * @description Its size in bytes.
             */
            size?: number | null;
            /** @constant */
            type: "resource_link";
            /** @description Where it is. */
            uri: string;
        };
        /** @description Size of a conversation, in tokens. */
        ContextView: {
            /**
             * Format: uint64
             * @description Size from which on older messages are summarised.
             */
            limit: number;
            /**
             * Format: uint64
             * @description Tokens of the last request and its reply; an estimate if messages were removed since.
             */
            used: number;
        };
        /** @description What happens to a call. */
        Decision: "allow" | "ask" | "deny";
        /** @description A model server on the gateway's machine. */
        DetectedServer: {
            /** @description Its base URL, to add it by. */
            baseUrl: string;
            /** @description Ids of its models. */
            models: string[];
            /** @description What it is, such as `Ollama`. */
            name: string;
        };
        /** @description Model servers on the gateway's machine. */
        DetectedServers: {
            /** @description Those that answered. */
            found: components["schemas"]["DetectedServer"][];
        };
        /** @description Well-known MCP servers. */
        DirectoryList: {
            /** @description The servers, the best match first. */
            servers: components["schemas"]["ServerListing"][];
        };
        /** @description Which session direct messages to an agent go to. */
        DmScope: "main" | "per-peer" | "per-channel-peer" | "per-account-channel-peer";
        /** @description One kind of effect. */
        Effect: "reads" | "writes" | "runs" | "sends" | "leaves";
        Effects: components["schemas"]["Effect"][];
        /** @description The shape of every answer on HTTP, WebSocket and the command line. */
        Envelope: {
            /** @description The stable code of the error. */
            code?: components["schemas"]["ErrorCode"] | null;
            /** @description What to show beside the result. */
            content?: components["schemas"]["ContentBlock"][];
            /** @description More for programs, such as the id of an approval. */
            details?: unknown;
            /** @description What was wrong, and on its own line what to do about it. */
            error?: string | null;
            /** @description Whether the call gave a result. */
            ok: boolean;
            /** @description Every parameter that is wrong. */
            problems?: components["schemas"]["Problem"][];
            /** @description The result. */
            result?: unknown;
            /**
             * Format: uint64
             * @description How long to wait before trying again, in milliseconds.
             */
            retryAfterMs?: number | null;
        };
        /** @description Stable codes. Faces map them to their own numbers; scripts may match on them. */
        ErrorCode: "unknown_tool" | "invalid_arguments" | "unauthenticated" | "forbidden" | "denied_by_policy" | "approval_required" | "approval_denied" | "rate_limited" | "budget_exceeded" | "deadline_exceeded" | "cancelled" | "not_found" | "conflict" | "too_large" | "storage_full" | "unavailable" | "failed" | "internal";
        /** @description One result of a check. */
        Finding: {
            /** @description What was found. */
            about: string;
            /** @description How to fix it. */
            remedy?: string | null;
            /** @description Severity. */
            state: components["schemas"]["FindingState"];
            /** @description What was checked, in a word or two. */
            what: string;
        };
        /** @description Severity of a finding. */
        FindingState: "ok" | "look" | "wrong";
        /** @description The findings of all checks. */
        Findings: {
            /** @description One or more per check. */
            findings: components["schemas"]["Finding"][];
        };
        /** @description Access of one agent. */
        Grant: {
            /** @description The agent. */
            agent: string;
            /** @description What it may do. */
            level: components["schemas"]["Level"];
        };
        /** @description A changed tool definition held back for review. */
        HeldTool: {
            /** @description Difference to the accepted definition. */
            difference: string;
            /** @description Fingerprint to accept. */
            fingerprint: string;
            /** @description Whether the tool is new. */
            new: boolean;
            /** @description Name at the server. */
            tool: string;
        };
        /** @description Programs with MCP servers. */
        ImportList: {
            /** @description The programs; one with several files is listed once for each. */
            clients: components["schemas"]["ClientServers"][];
        };
        /** @description An incoming message. */
        Inbound: {
            /** @description Account name. */
            accountId: string;
            /**
             * Format: int64
             * @description Processing attempts.
             */
            attempts: number;
            /** @description Platform. */
            channel: string;
            /** @description The chat. */
            chat: string | null;
            /** @description Why processing failed. */
            error: string | null;
            /** @description Sender's id on the platform. */
            from: string | null;
            /** @description Our id of it. */
            id: string;
            /** @description Sender's display name. */
            name: string | null;
            /** @description When it was received. */
            receivedAt: components["schemas"]["Timestamp"];
            /** @description Start of the text. */
            text: string | null;
        };
        /** @description Incoming messages that could not be processed. */
        Inbox: {
            /**
             * Format: uint
             * @description Number of messages.
             */
            count: number;
            /** @description The messages. */
            messages: components["schemas"]["Inbound"][];
        };
        /** @description Numbers of unprocessed events. */
        InboxCount: {
            /**
             * Format: uint64
             * @description Failed.
             */
            failed: number;
            /**
             * Format: uint64
             * @description Not processed yet.
             */
            waiting: number;
        };
        /** @description The response after a message was queued again. */
        InboxRetried: {
            /** @description Its id. */
            id: string;
            /** @description Always true. */
            retried: boolean;
        };
        /** @description The decision about a call. */
        Judged: {
            /** @description The decision. */
            decision: components["schemas"]["Decision"];
            /** @description Reason given by that rule. */
            reason: string | null;
            /** @description The deciding rule. */
            rule: string;
            /** @description The tool. */
            tool: string;
        };
        /** @description A file that was kept, as a tool says it. */
        KeptFile: {
            /**
             * Format: uuid
             * @description The chat it is in: pass it on to read or list it.
             */
            chatId?: string | null;
            /** @description Its name. */
            filename: string;
            /**
             * Format: uuid
             * @description Its id.
             */
            id: string;
            /** @description Its media type. */
            mimeType: string;
            /**
             * Format: uint64
             * @description Its size in bytes.
             */
            size: number;
            /** @description Where it can be downloaded without a token, for a while. */
            url: string;
            /** @description Until when that works, RFC 3339. */
            urlExpires: string;
        };
        /** @description What happened to an API key. */
        KeyState: "stored" | "kept" | "none";
        /** @description Kind of object. */
        Kind: "file" | "agent" | "job" | "session";
        /** @description A tool that is not available. */
        LeftOutTool: {
            /** @description The reason. */
            reason: string;
            /** @description Its name on the node or server. */
            tool: string;
        };
        /** @description What an agent may do with a collection; each level includes the one before. */
        Level: "read" | "write" | "admin";
        /** @description Something a server has to be told. */
        ListingInput: {
            /** @description Value if none is given. */
            default?: string | null;
            /** @description What it is. */
            description: string;
            /** @description Its name. */
            name: string;
            /**
             * @description Whether it can be left out.
             * @default false
             */
            optional: boolean;
            /** @description Rights that a key needs. */
            scopes?: string[];
            /**
             * @description Whether it is stored in the vault.
             * @default false
             */
            secret: boolean;
            /** @description Page where it can be found or created. */
            url?: string | null;
        };
        /** @description A package with a server. */
        ListingPackage: {
            /** @description Its program, if that has another name. */
            command?: string | null;
            /** @description Its name there. */
            name: string;
            /** @description Where it is published. */
            registry: components["schemas"]["ListingRegistry"];
            /** @description Date of that version. */
            released?: string | null;
            /** @description Version that was found. */
            version?: string | null;
        };
        /** @description A package registry. */
        ListingRegistry: "npm" | "pypi" | "docker";
        /** @description The transport of a remote server. */
        ListingTransport: "http" | "sse";
        /** @description The response with a new browser session. */
        LoggedIn: {
            /** @description When the session expires. */
            expiresAt: string | null;
            /** @description Token of the session, shown once. */
            token: string;
        };
        /** @description The response after a logout. */
        LoggedOut: {
            /** @description Whether a session was revoked; false for tokens that are not a browser session. */
            loggedOut: boolean;
        };
        /** @description A started login. */
        LoginBegun: {
            /** @description Login id. */
            login: string;
            /** @description When it expires. */
            until: components["schemas"]["Timestamp"];
            /** @description URL to open in a browser. */
            url: string;
        };
        /** @description The response after a logout. */
        LoginEnded: {
            /** @description Error of the authorization server while revoking the tokens, if any. */
            note: string | null;
            /**
             * Format: uuid
             * @description The account.
             */
            pcid: string;
            /** @description Always true. */
            removed: boolean;
        };
        /** @description A one-time login link for a browser. */
        LoginLink: {
            /** @description Path and fragment of the link. */
            path: string;
        };
        /** @description Status of the last login at a server. */
        LoginStatus: {
            /** @description Accounts created by a login. */
            connections: components["schemas"]["ConnectionRecord"][];
            /** @description What went wrong, if anything. */
            detail?: string | null;
            /** @description Login id. */
            login?: string;
            /**
             * Format: uuid
             * @description The account it created.
             */
            pcid?: string | null;
            /** @description `none`, `waiting`, `done` or `failed`. */
            state: string;
            /** @description When it expires. */
            until?: components["schemas"]["Timestamp"];
        };
        /** @description A list of presets. */
        MakerList: {
            /** @description Presets, in display order. */
            makers: components["schemas"]["MakerView"][];
        };
        /** @description Whether the settings contain a preset. */
        MakerStanding: "absent" | "set" | "keyless" | "different";
        /** @description A provider preset. */
        MakerView: {
            /** @description Endpoint of its models, where its key is sent. */
            address: string;
            /** @description The same, if config.toml must contain it. */
            baseUrl: string | null;
            /** @description How an existing provider of the same name differs. */
            difference?: string | null;
            /** @description Whether the vault has a key for it. */
            hasKey: boolean;
            /** @description Name, of the provider in the settings and of its key in the vault. */
            id: string;
            /** @description Wire format. */
            kind: components["schemas"]["ProviderKind"];
            /** @description Suggested model, if any. */
            model: string | null;
            /** @description Whether it needs an API key. */
            needsKey: boolean;
            /** @description Whether the settings contain it. */
            standing: components["schemas"]["MakerStanding"];
            /** @description Display name. */
            title: string;
        };
        /** @description Search results. */
        MemoryFound: {
            /** @description Whether everything was searched. */
            complete: boolean;
            /**
             * Format: uint
             * @description Number of results.
             */
            count: number;
            /** @description Results, best first. */
            results: components["schemas"]["Remembered"][];
        };
        /** @description A message that matches. */
        MessageMatch: {
            /** @description Time, as RFC 3339. */
            at: string;
            /** @description The matches in `snippet`: start and end in UTF-16 units. */
            marks: number[][];
            /** @description `user`, `assistant` or `tool`. */
            role: string;
            /**
             * Format: int64
             * @description Number of the message in the session.
             */
            seq: number;
            /** @description The session. */
            sessionKey: string;
            /** @description The text around the match, at most 200 characters on one line. */
            snippet: string;
            /** @description Its label, or else its title. */
            title?: string | null;
        };
        /** @description Messages that match. */
        MessageMatches: {
            /** @description The best match first. */
            matches: components["schemas"]["MessageMatch"][];
            /** @description Whether there are more. */
            more: boolean;
        };
        /**
         * @description A model by the name of its provider and its own: `openrouter/anthropic/claude-opus-5.5` is
         *     `anthropic/claude-opus-5.5` at `openrouter`.
         */
        ModelId: string;
        /** @description All configured models. */
        ModelList: {
            /** @description The default model. */
            default: string | null;
            /** @description Fallback models, in order. */
            fallbacks: string[];
            /** @description Problems in the model settings. */
            problems: string[];
            /** @description Every provider. */
            providers: components["schemas"]["ProviderView"][];
        };
        /** @description Price of a model, in dollars per million tokens. */
        ModelPrice: {
            /**
             * Format: double
             * @description Tokens read from the provider's cache; null means the price of `input`.
             */
            cacheRead: number | null;
            /**
             * Format: double
             * @description Tokens written to the provider's cache; null means the price of `input`.
             */
            cacheWrite: number | null;
            /**
             * Format: double
             * @description Input tokens.
             */
            input: number;
            /**
             * Format: double
             * @description Output tokens.
             */
            output: number;
        };
        /** @description A successful test. */
        ModelTested: {
            /**
             * Format: uint64
             * @description Cost in millionths of a dollar, if the price is known.
             */
            costMicros: number | null;
            /**
             * Format: uint64
             * @description Duration of the response, in milliseconds.
             */
            latencyMs: number;
            /** @description The model. */
            model: components["schemas"]["ModelId"];
            /** @description Whether it was a script and no model was called. */
            scripted: boolean;
            /** @description The reply. */
            text: string;
            /** @description Tokens used. */
            usage: components["schemas"]["ModelUsage"];
        };
        /** @description Tokens that were used up. */
        ModelUsage: {
            /**
             * Format: uint64
             * @description Read from the provider's cache.
             * @default 0
             */
            cache_read: number;
            /**
             * Format: uint64
             * @description Read, and written to the provider's cache.
             * @default 0
             */
            cache_write: number;
            /**
             * Format: uint64
             * @description Read at full price: neither from the cache nor into it.
             * @default 0
             */
            input: number;
            /**
             * Format: uint64
             * @description Written, thoughts included.
             * @default 0
             */
            output: number;
            /**
             * Format: uint64
             * @description How many of the written were thoughts.
             * @default 0
             */
            reasoning: number;
        };
        /** @description A model. */
        ModelView: {
            /**
             * Format: uint64
             * @description Context window, in tokens.
             */
            contextTokens: number | null;
            /** @description As `provider/model`. */
            id: components["schemas"]["ModelId"];
            /** @description Id at its provider. */
            model: string;
            /** @description Price, if known. */
            price: components["schemas"]["ModelPrice"] | null;
            /** @description Display name. */
            title: string | null;
        };
        /** @description A one-time enrolment code. */
        NodeCode: {
            /** @description The code. */
            code: string;
            /** @description When it expires. */
            expiresAt: string;
            /** @description Name of the node. */
            nodeId: string;
        };
        /** @description The response after a node enrolled. */
        NodeEnrolled: {
            /** @description Its name. */
            nodeId: string;
            /** @description Its token, shown once. */
            token: string;
        };
        /** @description A registered node. */
        NodeEntry: {
            /** @description Its operating system, as it reported. */
            clientPlatform: string;
            /** @description Its version, as it reported. */
            clientVersion: string;
            /** @description First connection (RFC 3339). */
            firstSeenAt: string;
            /** @description Former names. */
            formerIds?: string[];
            /** @description Capabilities of the machine. */
            hostCapabilities: string[];
            /** @description Last connect or disconnect (RFC 3339). */
            lastSeenAt: string;
            /** @description Tools it sent that are not available, while it is connected. */
            leftOut?: components["schemas"]["LeftOutTool"][];
            /** @description Its name. */
            nodeId: string;
            /** @description Whether it is connected. */
            online: boolean;
            /** @description Whether the owner may open terminals on it, while it is connected. */
            terminal?: boolean;
            /** @description Its tools, without prefix. */
            tools: string[];
        };
        /** @description The node was removed and its token revoked. */
        NodeForgetResult: {
            /** @description Whether a connection was closed. */
            disconnected: boolean;
            /** @description The node. */
            nodeId: string;
            /** @description Always true. */
            ok: boolean;
            /** @description Whether it was registered. */
            removed: boolean;
        };
        /** @description A list of nodes. */
        NodeList: {
            /**
             * Format: uint
             * @description Number of nodes.
             */
            count: number;
            /** @description All known nodes. */
            nodes: components["schemas"]["NodeEntry"][];
        };
        /** @description The response after a node was renamed. */
        NodeRenamed: {
            /** @description Its new name. */
            nodeId: string;
        };
        /** @description The response after a node's token was revoked. */
        NodeRevoked: {
            /** @description Whether it was connected. */
            disconnected: boolean;
            /** @description The node. */
            nodeId: string;
        };
        /** @description An outgoing message. */
        Outbound: {
            /** @description Account name. */
            accountId: string;
            /**
             * Format: int64
             * @description Delivery attempts.
             */
            attempts: number;
            /** @description Platform. */
            channel: string;
            /** @description When it was written. */
            createdAt: components["schemas"]["Timestamp"];
            /** @description Earliest time of the next attempt. */
            due: components["schemas"]["Timestamp"];
            /** @description When it was delivered or given up. */
            endedAt: components["schemas"]["Timestamp"] | null;
            /** @description Last error. */
            error: string | null;
            /** @description Its id. */
            id: string;
            /** @description Message id on the platform. */
            messageId: string | null;
            /** @description Session it comes from. */
            sessionKey: string | null;
            /** @description Delivery state. */
            state: components["schemas"]["OutboxState"];
            /** @description Start of the text, or a file name. */
            text: string | null;
            /** @description The chat. */
            to: string | null;
        };
        /** @description A list of outgoing messages. */
        Outbox: {
            /**
             * Format: uint
             * @description Number of messages.
             */
            count: number;
            /**
             * Format: uint64
             * @description Failed.
             */
            failed: number;
            /** @description The messages. */
            messages: components["schemas"]["Outbound"][];
            /**
             * Format: uint64
             * @description May have arrived or not.
             */
            unknown: number;
            /**
             * Format: uint64
             * @description Queued or being sent.
             */
            waiting: number;
        };
        /** @description Numbers of messages that were not delivered. */
        OutboxCount: {
            /**
             * Format: uint64
             * @description Failed.
             */
            failed: number;
            /**
             * Format: uint64
             * @description May have arrived or not.
             */
            unknown: number;
            /**
             * Format: uint64
             * @description Queued or being sent.
             */
            waiting: number;
        };
        /** @description The response after a message was dropped. */
        OutboxDropped: {
            /** @description Always true. */
            dropped: boolean;
            /** @description Its id. */
            id: string;
        };
        /** @description The response after a message was queued again. */
        OutboxResent: {
            /** @description Its id. */
            id: string;
            /** @description Always true. */
            resent: boolean;
        };
        /** @description State of an outgoing message. */
        OutboxState: "pending" | "sending" | "sent" | "failed" | "unknown" | "dropped";
        /** @description A person who writes to an account. */
        Pair: {
            /** @description Platform. */
            channel: string;
            /** @description Pairing code, which identifies them to the owner. */
            code: string | null;
            /** @description When the owner decided. */
            decidedAt: components["schemas"]["Timestamp"] | null;
            /** @description Handle. */
            handle: string | null;
            /** @description Start of their first message. */
            message: string | null;
            /** @description Display name. */
            name: string | null;
            /** @description Whether this is the owner. */
            owner: boolean;
            /** @description When they first wrote. */
            requestedAt: components["schemas"]["Timestamp"];
            /** @description Id on the platform. */
            senderId: string;
            /** @description Pairing state. */
            state: components["schemas"]["SenderState"];
        };
        /** @description The response after a pairing was approved. */
        PairApproved: {
            /** @description Always true. */
            approved: boolean;
            /** @description Platform. */
            channel: string;
            /** @description Display name. */
            name: string | null;
            /** @description Whether this is the owner. */
            owner: boolean;
            /** @description Id on the platform. */
            senderId: string;
        };
        /** @description The response after a person was removed. */
        PairForgotten: {
            /** @description Platform. */
            channel: string;
            /** @description Always true. */
            forgotten: boolean;
            /** @description Id on the platform. */
            senderId: string;
        };
        /** @description A list of people. */
        PairList: {
            /**
             * Format: uint
             * @description Number of people.
             */
            count: number;
            /** @description Pending pairing requests and decided ones. */
            pairs: components["schemas"]["Pair"][];
        };
        /** @description The response after a pairing was rejected. */
        PairRejected: {
            /** @description Platform. */
            channel: string;
            /** @description Always true. */
            rejected: boolean;
            /** @description Id on the platform. */
            senderId: string;
        };
        /** @description A name pattern in which `*` stands for any run of characters. */
        Pattern: string;
        /** @description A picture in a message. */
        PictureRef: {
            /** @description MIME type. */
            mimeType: string;
            /** @description `SEQ/INDEX`: the name to request it by. */
            ref: string;
        };
        /** @description A condition on one argument; all given parts have to hold. */
        Predicate: {
            /** @description The argument's text contains this. */
            contains?: string | null;
            /** @description The argument equals this value. */
            equals?: unknown;
            /**
             * @description The argument is a URL with one of these hosts; `*.example.com` matches subdomains. A URL that cannot be
             *     parsed matches rules that deny or ask, but not rules that allow.
             */
            host?: components["schemas"]["Pattern"][];
            /** @description The argument's text contains a match of this regular expression. */
            matches?: string | null;
            /**
             * @description The argument is a command whose programs, by their resolved names, are in this list:
             *     `/usr/bin/git` and `env git` are `git`. For rules that allow, all of them have to be, and a command that
             *     cannot be parsed does not match; for rules that deny or ask, one is enough.
             */
            program?: components["schemas"]["Pattern"][];
            /** @description The argument's text starts with this. */
            starts_with?: string | null;
        };
        /** @description What is wrong with one parameter. */
        Problem: {
            /** @description What is wrong and what would be right. */
            message: string;
            /** @description The parameter, as a dotted path (`schedule.kind`). */
            parameter: string;
        };
        /** @description The response after a provider was added. */
        ProviderAdded: {
            /** @description The default model. */
            default: string | null;
            /** @description What happened to its API key. */
            key: components["schemas"]["KeyState"];
            /** @description The chosen model; null if none was named and there is no suggestion. */
            model: components["schemas"]["ModelId"] | null;
            /** @description The provider with its models. */
            provider: components["schemas"]["ProviderView"];
        };
        /** @description API of a provider. */
        ProviderKind: "anthropic" | "openai" | "openai-responses" | "gemini" | "scripted";
        /** @description The response after a provider was removed. */
        ProviderRemoved: {
            /** @description Whether its key was removed from the vault too. */
            keyRemoved: boolean;
            /** @description Its name. */
            name: string;
            /** @description Always true. */
            removed: boolean;
        };
        /** @description A provider with its models. */
        ProviderView: {
            /** @description Endpoint; empty for a script. */
            baseUrl: string;
            /** @description Its models named in the settings. */
            configured: components["schemas"]["ModelId"][];
            /** @description Why its models could not be listed. */
            error?: string | null;
            /** @description Wire format. */
            kind: components["schemas"]["ProviderKind"];
            /** @description Models it offers. */
            offered?: components["schemas"]["ModelView"][] | null;
            /** @description Its name in the settings. */
            provider: string;
            /** @description Whether it replays a file instead of calling a model. */
            scripted: boolean;
            /** @description The same, with details. */
            used: components["schemas"]["ModelView"][];
        };
        /** @description A search result. */
        Remembered: {
            /** @description The agent. */
            agent: string;
            /** @description Time, as RFC 3339. */
            at: string;
            /** @description The file's path. */
            path?: string | null;
            /**
             * Format: int64
             * @description Number of the message, or line in the file.
             */
            place: number;
            /** @description `user`, `assistant` or `tool`. */
            role?: string | null;
            /** @description The session's key. */
            sessionKey?: string | null;
            /** @description The text around the match. */
            snippet: string;
            /** @description `session` if the model still sees it, `archive` if not, or `file`. */
            source: string;
        };
        /** @description When a session is cleared automatically. Its messages are archived. */
        Reset: {
            /**
             * Format: uint8
             * @description For `daily`: the hour, in `timezone`.
             * @default 4
             */
            at_hour: number;
            /**
             * Format: uint32
             * @description For `idle`: the period in minutes.
             * @default 60
             */
            idle_minutes: number;
            /**
             * @description `manual`: never; `daily`: at an hour of the user's day; `idle`: after a period without messages.
             * @default daily
             */
            mode: components["schemas"]["ResetMode"];
        };
        /** @description When a session is cleared automatically. */
        ResetMode: "manual" | "daily" | "idle";
        /** @description When a session resets automatically; checked when the next message arrives. */
        ResetPolicy: {
            /** @constant */
            mode: "manual";
        } | {
            /**
             * Format: uint8
             * @description Hour of the day, in the user's time zone.
             */
            atHour: number;
            /** @constant */
            mode: "daily";
        } | {
            /**
             * Format: uint32
             * @description Length of that period, in minutes.
             */
            idleMinutes: number;
            /** @constant */
            mode: "idle";
        };
        /** @description The response after a grant. */
        ResourceGranted: {
            /** @description The agent. */
            agent: string;
            /**
             * Format: uuid
             * @description Id of the resource.
             */
            collectionId: string;
            /** @description Access level. */
            level: components["schemas"]["Level"];
        };
        /** @description A list of resources. */
        ResourceList: {
            /** @description The resources. */
            resources: components["schemas"]["CollectionRecord"][];
        };
        /** @description The response after a resource was removed. */
        ResourceRemoved: {
            /**
             * Format: uuid
             * @description Its id.
             */
            collectionId: string;
            /** @description Always true. */
            removed: boolean;
        };
        /** @description The response after a grant was revoked. */
        ResourceRevoked: {
            /** @description The agent. */
            agent: string;
            /**
             * Format: uuid
             * @description Id of the resource.
             */
            collectionId: string;
            /** @description Always true. */
            revoked: boolean;
        };
        /** @description A resource and its grants. */
        ResourceShown: {
            /**
             * Format: uint64
             * @description How many bytes they have; those of secrets are not counted.
             */
            bytes: number;
            /**
             * Format: uuid
             * @description Its id.
             */
            collectionId: string;
            /** @description When it was made. */
            created: components["schemas"]["Timestamp"];
            /** @description What it is for. */
            description: string;
            /** @description Agents that may use it. */
            grants: components["schemas"]["Grant"][];
            /**
             * Format: uint64
             * @description How many rows, files, documents or secrets it holds.
             */
            items: number;
            /** @description What it holds. */
            kind: components["schemas"]["CollectionKind"];
            /** @description Its name, the only one of its kind. */
            name: string;
            /** @description Names and hosts of its secrets, if it is a vault. */
            secrets?: components["schemas"]["VaultEntry"][] | null;
            /** @description When what it holds last changed. */
            updated: components["schemas"]["Timestamp"];
        };
        /** @description The response after a rewind. */
        Rewound: {
            /** @description Archive of the removed messages. */
            archivedTo: string;
            /**
             * Format: uint
             * @description Messages removed.
             */
            removedMessages: number;
            /**
             * Format: uint
             * @description Tool calls among them; their effects remain.
             */
            removedToolCalls: number;
            /** @description The session. */
            sessionKey: string;
            /** @description Text of the user message, to be sent again. */
            text: string;
        };
        /** @description What a token, and so its bearer, is for. */
        Role: "owner" | "client" | "node" | "read-only" | "channel";
        /** @description One rule. All given conditions have to match. */
        Rule: {
            /**
             * @description Agent name patterns. Empty: any.
             * @default []
             */
            agents: components["schemas"]["Pattern"][];
            /**
             * @description Caller patterns, such as `owner:*`, `client:laptop`, `guest:corp/*` or `person:telegram:42`. Empty: any.
             * @default []
             */
            callers: components["schemas"]["Pattern"][];
            /** @description Decision for a matching call. */
            decision: components["schemas"]["Decision"];
            /**
             * @description Matches tools with at least one of these effects. Empty: any.
             * @default []
             */
            effects: components["schemas"]["Effect"][];
            /**
             * @description For calls allowed by this rule: programs they start may use the network.
             * @default false
             */
            network: boolean;
            /** @description Reason, shown with a denial or an approval request. */
            reason?: string | null;
            /**
             * @description Tool name patterns; `*` matches any characters.
             * @default [
             *       "*"
             *     ]
             */
            tools: components["schemas"]["Pattern"][];
            /**
             * @description Conditions on arguments, by dotted argument path; quote a path that contains dots.
             * @default {}
             */
            when: {
                [key: string]: components["schemas"]["Predicate"];
            };
        };
        /** @description A list of rules. */
        RuleList: {
            /** @description Rules, in order. */
            rules: components["schemas"]["Rule"][];
        };
        /** @description The rule that asked. */
        RuleShown: {
            /** @description Where it is in the settings, such as `policy.rules.3`; `default` if no rule matched. */
            source: string;
            /** @description What it says. */
            text: string;
        };
        /** @description Rules to start from. */
        RuleTemplate: {
            /** @description What the rules do, and what to adapt. */
            description: string;
            /** @description Its name. */
            id: string;
            /** @description The rules, for `policy.rules` or those of an agent. */
            rules: components["schemas"]["Rule"][];
            /** @description Display name. */
            title: string;
        };
        /** @description The names of secrets. */
        SecretNames: {
            /** @description The names. */
            names: string[];
        };
        /** @description The response after a secret was removed. */
        SecretRemoved: {
            /** @description Its name. */
            name: string;
            /** @description Always true. */
            removed: boolean;
        };
        /** @description The response after a secret was stored. */
        SecretStored: {
            /** @description Its name. */
            name: string;
            /** @description Always true. */
            stored: boolean;
        };
        /** @description A secret that a server needs. */
        SecretView: {
            /** @description Whether it need not be given: it was pasted, or is stored in the vault. */
            known: boolean;
            /** @description What it is. */
            label: string;
            /** @description Its name. */
            name: string;
            /** @description Whether the server works without it. */
            optional: boolean;
            /** @description Page where it can be found or created. */
            url?: string | null;
        };
        /** @description Whether a sender may message the agents. */
        SenderState: "asking" | "approved" | "rejected";
        /** @description The response after definitions were accepted. */
        ServerAccepted: {
            /** @description Accepted tools, by their names at the server. */
            accepted: string[];
            /** @description The server. */
            name: string;
        };
        /** @description The response after a server was added. */
        ServerAdded: {
            /** @description Always true. */
            added: boolean;
            /** @description Its name. */
            name: string;
        };
        /** @description Transport of a server. */
        ServerKind: "openapi" | "stdio" | "http";
        /** @description A list of MCP servers. */
        ServerList: {
            /**
             * Format: uint
             * @description Number of servers.
             */
            count: number;
            /** @description The servers. */
            servers: components["schemas"]["ServerView"][];
        };
        /** @description A well-known server. */
        ServerListing: {
            /** @description Arguments of the program; `${NAME}` is an input. */
            args?: string[];
            /** @description What it does. */
            description: string;
            /** @description HTTP headers; `${NAME}` is an input. */
            headers?: {
                [key: string]: string;
            };
            /** @description Page about it. */
            homepage: string;
            /**
             * @description What it has to be told. An input that no argument, header or URL refers to is an environment variable.
             * @default []
             */
            inputs: components["schemas"]["ListingInput"][];
            /** @description Name to add it by. */
            name: string;
            /**
             * @description Whether it needs a login with OAuth.
             * @default false
             */
            oauth: boolean;
            /** @description Package to run on the gateway's machine. */
            package?: components["schemas"]["ListingPackage"] | null;
            /**
             * @description Words to find it by.
             * @default []
             */
            tags: string[];
            /** @description Display name. */
            title: string;
            /** @description Its transport, if it is not `http`. */
            transport?: components["schemas"]["ListingTransport"] | null;
            /** @description URL of a remote server. */
            url?: string | null;
            /**
             * @description Whether its package was found in its registry. URLs and images are not checked.
             * @default false
             */
            verified: boolean;
        };
        /** @description The log of a server. */
        ServerLog: {
            /** @description Last lines, oldest first. */
            lines: string[];
        };
        /** @description What adding a server would do. Nothing is stored or started. */
        ServerPreview: {
            /** @description Whether adding it needs `confirm`, because it starts a program on the gateway's machine. */
            confirm: boolean;
            /** @description Names of its environment variables. */
            env: string[];
            /** @description Transport. */
            kind: components["schemas"]["ServerKind"];
            /** @description Its name. */
            name: string;
            /** @description What is not taken over, and why. */
            notes: string[];
            /** @description Whether it needs a login with OAuth. */
            oauth: boolean;
            /** @description What would keep it from working or from being added. */
            problems: string[];
            /** @description The exact program and its arguments, or the URL. */
            runs: string[];
            /** @description Its secrets. */
            secrets: components["schemas"]["SecretView"][];
            /** @description All servers of the pasted JSON. */
            servers?: string[];
            /** @description Values that it still needs and that are not secret. */
            values: components["schemas"]["ListingInput"][];
        };
        /** @description The response after a server was removed. */
        ServerRemoved: {
            /** @description Its name. */
            name: string;
            /** @description Always true. */
            removed: boolean;
        };
        /** @description A server with its tools. */
        ServerShown: {
            /** @description Command. */
            command?: string | null;
            /** @description Disabled tools, by the server's names. */
            disabledTools: string[];
            /** @description Whether it is enabled. */
            enabled: boolean;
            /**
             * Format: uint
             * @description Number of tools held back for review.
             */
            held?: number;
            /** @description Definitions held back for review. */
            heldBack: components["schemas"]["HeldTool"][];
            /** @description Tools left out because one of their schemas cannot be used. */
            leftOut: components["schemas"]["LeftOutTool"][];
            /** @description Whether it has a log: that of its program. */
            log: boolean;
            /** @description Its name. */
            name: string;
            /** @description What is wrong, if anything. */
            problem?: string | null;
            /** @description Name in the catalogue. */
            server?: string;
            /** @description Service whose accounts it uses. */
            service?: string;
            /** @description State of its connections; the most significant if there are several. */
            state: components["schemas"]["ServerState"];
            /** @description Last log lines. */
            stderr: string;
            /** @description Its tools. */
            toolList: components["schemas"]["ServerTool"][];
            /**
             * Format: uint
             * @description Number of tools offered.
             */
            tools?: number;
            /** @description Transport. */
            type?: components["schemas"]["ServerKind"];
            /** @description URL. */
            url?: string | null;
        };
        /** @description State of a server. */
        ServerState: "off" | "stopped" | "idle" | "starting" | "ready" | "failing";
        /** @description A tool of a server. */
        ServerTool: {
            /** @description Description given by the server. */
            description: string | null;
            /** @description Name in the catalogue. */
            name: string;
            /** @description Name at the server. */
            tool: string;
        };
        /** @description The status of a server; without details if it is disabled. */
        ServerView: {
            /** @description Command. */
            command?: string | null;
            /** @description Disabled tools, by the server's names. */
            disabledTools: string[];
            /** @description Whether it is enabled. */
            enabled: boolean;
            /**
             * Format: uint
             * @description Number of tools held back for review.
             */
            held?: number;
            /** @description Whether it has a log: that of its program. */
            log: boolean;
            /** @description Its name. */
            name: string;
            /** @description What is wrong, if anything. */
            problem?: string | null;
            /** @description Name in the catalogue. */
            server?: string;
            /** @description Service whose accounts it uses. */
            service?: string;
            /** @description State of its connections; the most significant if there are several. */
            state: components["schemas"]["ServerState"];
            /**
             * Format: uint
             * @description Number of tools offered.
             */
            tools?: number;
            /** @description Transport. */
            type?: components["schemas"]["ServerKind"];
            /** @description URL. */
            url?: string | null;
        };
        /** @description What was imported. */
        ServersImported: {
            /** @description Servers that were added. */
            added: string[];
            /** @description Servers that were not. */
            skipped: components["schemas"]["SkippedView"][];
        };
        /** @description The response after a compaction. */
        SessionCompacted: {
            /** @description Name of the archive. */
            archivedTo: string;
            /**
             * Format: uint
             * @description Messages kept.
             */
            keptMessages: number;
            /** @description The session. */
            sessionKey: components["schemas"]["SessionKey"];
            /**
             * Format: uint
             * @description Messages removed from the context.
             */
            trimmedMessages: number;
        };
        /** @description The response after a session was deleted. */
        SessionDeleted: {
            /**
             * Format: uint
             * @description Archives deleted.
             */
            deletedArchives: number;
            /**
             * Format: uint64
             * @description Messages deleted, including those from before its last reset.
             */
            deletedMessages: number;
            /** @description Its key. */
            sessionKey: string;
            /**
             * Format: uint64
             * @description Pending approvals withdrawn.
             */
            withdrawnApprovals: number;
        };
        /** @description The key of a session, in canonical spelling. */
        SessionKey: string;
        /** @description A list of sessions. */
        SessionList: {
            /**
             * Format: uint
             * @description Number of sessions listed.
             */
            count: number;
            /** @description Sessions, pinned ones first, then last used first. */
            sessions: components["schemas"]["SessionView"][];
            /**
             * Format: uint64
             * @description Number of all sessions, if counted.
             */
            total?: number | null;
        };
        /** @description A message of a session, as text. */
        SessionMessage: {
            /** @description Why the turn failed here. */
            error?: components["schemas"]["TurnFailure"] | null;
            /** @description Attached pictures. */
            pictures?: components["schemas"]["PictureRef"][];
            /** @description `user`, `assistant` or `tool`. */
            role: string;
            /**
             * Format: int64
             * @description Its number in the session.
             */
            seq: number;
            /** @description Whether the turn was stopped here; the text is what had been written. */
            stopped?: boolean;
            /** @description The text. */
            text: string;
            /** @description The tools that were called, or whose results these are. */
            tools?: string[];
            /** @description Usage of the turn that ends with this message; absent in all other messages, and if unknown. */
            usage?: components["schemas"]["TurnUsage"] | null;
        };
        /** @description Messages of a session. */
        SessionMessages: {
            /** @description Messages, oldest first. */
            messages: components["schemas"]["SessionMessage"][];
            /**
             * Format: int64
             * @description With `around` or `after`: value of `after` for later messages; absent at the end.
             */
            nextAfter?: number | null;
            /** @description The session. */
            sessionKey: components["schemas"]["SessionKey"];
        };
        /** @description The response after a reset. */
        SessionReset: {
            /**
             * Format: uint
             * @description Messages archived.
             */
            archivedMessages: number;
            /** @description Name of the archive; empty if there was nothing to archive. */
            archivedTo: string;
            /** @description New id. */
            newSessionId: string;
            /** @description Previous id. */
            oldSessionId: string;
            /** @description The session. */
            sessionKey: components["schemas"]["SessionKey"];
            /**
             * Format: int64
             * @description Tokens counted before the reset.
             */
            tokens: number;
        };
        /** @description Settings of one session; they override the agent's. */
        SessionSettings: {
            /**
             * Format: uint32
             * @description Maximum tokens of one reply.
             */
            maxTokens?: number | null;
            /** @description The model. */
            model?: components["schemas"]["ModelId"] | null;
            /** @description When it resets automatically. */
            resetPolicy?: components["schemas"]["ResetPolicy"] | null;
            /** @description Additional system prompt. */
            systemPrompt?: string | null;
            /** @description Reasoning effort. */
            thinkingLevel?: components["schemas"]["Thinking"] | null;
        };
        /** @description The response with a session. */
        SessionShown: {
            /** @description The session. */
            session: components["schemas"]["SessionWhole"];
        };
        /** @description The sessions that the calls of a session started. */
        SessionTree: {
            /** @description Each after the one it was started by, at most 200. */
            sessions: components["schemas"]["SubSessionView"][];
        };
        /** @description A session. */
        SessionView: {
            /** @description Whose conversation. */
            agent: string;
            /** @description Its agent, the same as `agent`. */
            agentId: string;
            /** @description Whether it is archived; a new message takes it out of the archive. */
            archived: boolean;
            /** @description Whether a turn is running. */
            busy: boolean;
            /**
             * Format: int64
             * @description Cost since the last reset, in millionths of a dollar.
             */
            costMicros: number;
            /** @description When it was made. */
            createdAt: string;
            /** @description The folder it is listed in. */
            folder?: string | null;
            /**
             * Format: int64
             * @description Input tokens since the last reset.
             */
            inputTokens: number;
            /** @description Label set by the user. */
            label: string | null;
            /** @description When it was last used. */
            lastActiveAt: string;
            /**
             * Format: uint64
             * @description The same as `messages`.
             */
            messageCount: number;
            /**
             * Format: uint64
             * @description Messages in the context, without archived ones.
             */
            messages: number;
            /**
             * Format: int64
             * @description Output tokens since the last reset.
             */
            outputTokens: number;
            /** @description Whether it is listed first. */
            pinned: boolean;
            /** @description Current id; a reset changes it. */
            sessionId: string;
            /** @description Key, `agent:NAME:REST`. */
            sessionKey: string;
            /** @description Title: made by a model after the first reply, before that the start of the first message. */
            title?: string | null;
        };
        /** @description A session with its settings. */
        SessionWhole: {
            /** @description Whose conversation. */
            agent: string;
            /** @description Its agent, the same as `agent`. */
            agentId: string;
            /** @description Whether it is archived; a new message takes it out of the archive. */
            archived: boolean;
            /** @description Whether a turn is running. */
            busy: boolean;
            /** @description Size of the conversation. */
            context: components["schemas"]["ContextView"];
            /**
             * Format: int64
             * @description Cost since the last reset, in millionths of a dollar.
             */
            costMicros: number;
            /** @description When it was made. */
            createdAt: string;
            /** @description The folder it is listed in. */
            folder?: string | null;
            /**
             * Format: int64
             * @description Input tokens since the last reset.
             */
            inputTokens: number;
            /** @description Label set by the user. */
            label: string | null;
            /** @description When it was last used. */
            lastActiveAt: string;
            /** @description When it was last reset. */
            lastResetAt: string | null;
            /**
             * Format: uint64
             * @description The same as `messages`.
             */
            messageCount: number;
            /**
             * Format: uint64
             * @description Messages in the context, without archived ones.
             */
            messages: number;
            /** @description The model in force, as `provider/model`: of the session, of its agent or the default. */
            model?: components["schemas"]["ModelId"] | null;
            /**
             * Format: int64
             * @description Output tokens since the last reset.
             */
            outputTokens: number;
            /** @description Whether it is listed first. */
            pinned: boolean;
            /** @description Previous ids. */
            previous: string[];
            /**
             * Format: uint
             * @description Queued inputs.
             */
            queued: number;
            /** @description Current id; a reset changes it. */
            sessionId: string;
            /** @description Key, `agent:NAME:REST`. */
            sessionKey: string;
            /** @description Its settings. */
            settings: components["schemas"]["SessionSettings"];
            /** @description Title: made by a model after the first reply, before that the start of the first message. */
            title?: string | null;
        };
        /** @description Requirements of a skill. */
        SkillNeedsShape: {
            /** @description Capabilities that one node must have. */
            capabilities: string[];
        };
        /** @description A node. */
        SkillNode: {
            /** @description Its capabilities. */
            hostCapabilities: string[];
            /** @description Its name. */
            nodeId: string;
            /** @description Whether it is connected. */
            online: boolean;
        };
        /** @description The response with a skill. */
        SkillShown: {
            /** @description The skill. */
            skill: components["schemas"]["SkillText"];
        };
        /** @description Which copy of a skill was found. */
        SkillSource: "agent" | "global";
        /** @description Status of a skill. */
        SkillStatus: {
            /** @description Whether it is shown whatever the nodes can do. */
            always: boolean;
            /** @description Its description. */
            description: string;
            /** @description Whether it is shown to the agent now. */
            eligible: boolean;
            /** @description Connected nodes with all required capabilities. */
            eligibleHosts: string[];
            /** @description Whether it is enabled. */
            enabled?: boolean | null;
            /** @description Path of its file. */
            location: string;
            /** @description Its name. */
            name: string;
            /** @description Why it is not shown. */
            reasons: string[];
            /** @description Its requirements. */
            requirements: components["schemas"]["SkillNeedsShape"];
        };
        /** @description The response after a skill was enabled or disabled. */
        SkillSwitched: {
            /** @description Its new status. */
            skill: components["schemas"]["SkillStatus"];
        };
        /** @description A skill with its text. */
        SkillText: {
            /** @description Whether it is shown whatever the nodes can do. */
            always: boolean;
            /** @description Its description. */
            description: string;
            /** @description Whether it is shown to the agent now. */
            eligible: boolean;
            /** @description Connected nodes with all required capabilities. */
            eligibleHosts: string[];
            /** @description Whether it is enabled. */
            enabled?: boolean | null;
            /** @description Path of its file. */
            location: string;
            /** @description Its name. */
            name: string;
            /** @description Path of its text in the workspace. */
            path: string;
            /** @description Why it is not shown. */
            reasons: string[];
            /** @description Its requirements. */
            requirements: components["schemas"]["SkillNeedsShape"];
            /** @description Origin of this copy. */
            source: components["schemas"]["SkillSource"];
            /** @description Its text. */
            text: string;
        };
        /** @description Skills of an agent, and the nodes. */
        SkillsStatusResult: {
            /** @description The agent. */
            agentId: string;
            /** @description All registered nodes. */
            nodes: components["schemas"]["SkillNode"][];
            /**
             * Format: int64
             * @description Time of the check, in milliseconds since 1970.
             */
            refreshedAt: number;
            /** @description All skills, by name. */
            skills: components["schemas"]["SkillStatus"][];
        };
        /** @description A server that cannot be imported. */
        SkippedView: {
            /** @description Its name. */
            name: string;
            /** @description The reason. */
            reason: string;
        };
        /** @description Why a model stopped. */
        StopReason: "end" | "calls" | "length";
        /** @description A session that a call of another one started. */
        SubSessionView: {
            /** @description Its agent. */
            agentId: string;
            /** @description When it was made. */
            createdAt: string;
            /** @description The model's id of the call that started it, if known. */
            parentCallId?: string | null;
            /** @description The session that started it. */
            parentKey?: string | null;
            /** @description Its key. `POST /api/chat/stop` and `chat.stop` stop its running turn. */
            sessionKey: string;
            /**
             * @description State of its last turn: `queued`, `running`, `waiting` (for approval), `done`, `failed` or `stopped`; absent if it
             *     has none yet.
             */
            state?: string | null;
            /** @description Its title: the start of its task. */
            title?: string | null;
        };
        /** @description How hard to think. */
        Thinking: "none" | "minimal" | "low" | "medium" | "high" | "xhigh";
        /** @description Reasoning level. */
        ThinkingLevel: "none" | "minimal" | "low" | "medium" | "high" | "xhigh";
        /**
         * Format: int64
         * @description Milliseconds since the Unix epoch, as every record stores time.
         */
        Timestamp: number;
        /** @description An item. */
        Todo: {
            /** @description Chat it came from. */
            chat_id?: string | null;
            /** @description Text. */
            content: string;
            /** @description When it was added, in UTC. */
            created_at?: string | null;
            /** @description When it was completed, in UTC. */
            done_at?: string | null;
            /** @description Its id; `complete` accepts it as `content`. */
            id: string;
            /** @description When it is next due. */
            next?: string | null;
            /** @description How it recurs. */
            repeat?: string | null;
            /** @description Time zone of `next`. */
            tz?: string | null;
        };
        /** @description A list of to-dos. */
        TodoList: {
            /** @description Completed items, newest first. */
            done: components["schemas"]["Todo"][];
            /**
             * Format: uint
             * @description Number of completed items.
             */
            doneCount: number;
            /** @description Open items. */
            open: components["schemas"]["Todo"][];
            /**
             * Format: uint
             * @description Number of open items.
             */
            openCount: number;
            /** @description Recurring items. */
            recurring: components["schemas"]["Todo"][];
        };
        /** @description A token, without its text. */
        Token: {
            /** @description Agents it may act for and talk to. */
            agents: components["schemas"]["Pattern"][];
            /** @description When it was created. */
            createdAt: string;
            /** @description When it expires; null for never. */
            expiresAt: string | null;
            /**
             * Format: uuid
             * @description Id used to revoke it.
             */
            id: string;
            /** @description When it was last used. */
            lastUsedAt: string | null;
            /** @description Name. */
            name: string;
            /** @description When it was revoked. */
            revokedAt: string | null;
            /** @description Role of its bearer. */
            role: components["schemas"]["Role"];
            /** @description Whether it is valid. */
            state: components["schemas"]["TokenState"];
            /** @description Tools it may call. */
            tools: components["schemas"]["Pattern"][];
        };
        /** @description A list of tokens. */
        TokenList: {
            /** @description Tokens, newest first. */
            tokens: components["schemas"]["Token"][];
        };
        /** @description The response with a new token. */
        TokenMade: {
            /** @description Its record. */
            record: components["schemas"]["Token"];
            /** @description Its text, shown once. */
            token: string;
        };
        /** @description The response after a token was revoked. */
        TokenRevoked: {
            /** @description Its record. */
            record: components["schemas"]["Token"];
        };
        /** @description Whether a token is valid. */
        TokenState: "active" | "expired" | "revoked";
        /** @description Tool names by group. */
        ToolGroups: {
            channel: string[];
            core: string[];
            extra: string[];
        };
        /** @description Tools, and their names by group. */
        ToolList: {
            /** @description Names by group. */
            groups: components["schemas"]["ToolGroups"];
            /** @description Tools that work only inside a chat of a messaging platform; listed for information. */
            inChats?: components["schemas"]["ToolListing"][];
            tools: components["schemas"]["ToolListing"][];
        };
        /** @description A tool in a list. */
        ToolListing: {
            /** @description What it does. */
            description: string;
            /** @description Effects of a call. */
            effects: components["schemas"]["Effect"][];
            /** @description Family the tool belongs to. */
            family: string;
            /** @description `core`, `extra` or `channel`. */
            group: string;
            /** @description The JSON Schema of its parameters. */
            inputSchema: unknown;
            /** @description Canonical name. */
            name: string;
            /** @description The JSON Schema of its result. */
            outputSchema?: unknown;
            /** @description Where it runs. */
            runsOn: string;
            /**
             * Format: uint64
             * @description Longest duration of a call, in seconds.
             */
            timeoutSeconds: number;
            /** @description Name used with model APIs and MCP. */
            wireName: string;
        };
        /** @description The text of a recording. */
        Transcribed: {
            /** @description The text. */
            text: string;
        };
        /** @description The response after an object was trusted. */
        Trusted: {
            /** @description Whether it was untrusted before. */
            changed: boolean;
        };
        /** @description Why a turn failed. */
        TurnFailure: {
            /** @description The code that a failed request would have. */
            code: string;
            /** @description Stable name of the failure, such as `provider_rate_limited`. */
            failure: string;
            /** @description The reason; the last line may be a hint. */
            message: string;
            /**
             * Format: uint64
             * @description Milliseconds to wait before a retry, if known.
             */
            retryAfterMs?: number | null;
            /** @description Whether the same message may succeed later without a change of it or of the settings. */
            retryable: boolean;
        };
        /** @description Usage of a turn. */
        TurnUsage: {
            /**
             * Format: uint64
             * @description Cost in millionths of a dollar, as far as prices are known.
             * @default 0
             */
            costMicros: number;
            /**
             * Format: uint64
             * @description Duration from start to end; absent while the turn is running.
             */
            durationMs?: number | null;
            /**
             * Format: uint64
             * @description Input tokens.
             * @default 0
             */
            inputTokens: number;
            /**
             * Format: uint64
             * @description Output tokens.
             * @default 0
             */
            outputTokens: number;
            /**
             * Format: uint32
             * @description Number of model replies.
             * @default 0
             */
            replies: number;
        };
        /** @description An object written or changed after untrusted text was read. */
        Untrusted: {
            /** @description When, if recorded. */
            at: string | null;
            /** @description Author, if recorded. */
            author: string | null;
            /** @description Id. */
            id: string;
            /** @description What kind of object. */
            kind: components["schemas"]["Kind"];
            /** @description The untrusted text read before. */
            source: string;
        };
        /** @description A list of untrusted objects. */
        UntrustedList: {
            /** @description Files and agents, then jobs, then sessions with the latest first. */
            objects: components["schemas"]["Untrusted"][];
        };
        /** @description Usage of models. */
        UsageList: {
            /** @description Usage by day, agent, session and model. */
            rows: components["schemas"]["UsageRow"][];
            /** @description First day. */
            since: string;
            /** @description Everything together. */
            total: components["schemas"]["UsageTotal"];
        };
        /** @description Usage of one day, agent, session and model. */
        UsageRow: {
            /** @description The agent. */
            agent: string;
            /**
             * Format: int64
             * @description Tokens read from the provider's cache.
             */
            cacheReadTokens: number;
            /**
             * Format: int64
             * @description Tokens written to the provider's cache.
             */
            cacheWriteTokens: number;
            /**
             * Format: int64
             * @description Number of replies.
             */
            calls: number;
            /**
             * Format: int64
             * @description Cost in millionths of a dollar, as far as prices are known.
             */
            costMicros: number;
            /** @description Day in the owner's time zone. */
            day: string;
            /**
             * Format: int64
             * @description Input tokens.
             */
            inputTokens: number;
            /** @description The model. */
            model: string;
            /**
             * Format: int64
             * @description Output tokens.
             */
            outputTokens: number;
            /** @description The session. */
            sessionKey: string;
        };
        /** @description Total usage. */
        UsageTotal: {
            /**
             * Format: int64
             * @description Number of replies.
             */
            calls: number;
            /**
             * Format: int64
             * @description Cost in millionths of a dollar.
             */
            costMicros: number;
            /**
             * Format: int64
             * @description Input tokens.
             */
            inputTokens: number;
            /**
             * Format: int64
             * @description Output tokens.
             */
            outputTokens: number;
        };
        /** @description A secret in a vault, without its value. */
        VaultEntry: {
            /** @description When it was first stored. */
            created: components["schemas"]["Timestamp"];
            /** @description The hosts it may be sent to; `*.example.com` matches subdomains. */
            hosts: string[];
            /** @description Its name. */
            name: string;
            /** @description When it was last stored. */
            updated: components["schemas"]["Timestamp"];
        };
        /** @description The response after a secret was removed. */
        VaultSecretRemoved: {
            /**
             * Format: uuid
             * @description The vault.
             */
            collectionId: string;
            /** @description The secret's name. */
            name: string;
            /** @description Always true. */
            removed: boolean;
        };
        /** @description The response after a secret was stored. */
        VaultSecretStored: {
            /**
             * Format: uuid
             * @description The vault.
             */
            collectionId: string;
            /** @description Hosts it may be sent to. */
            hosts: string[];
            /** @description The secret's name. */
            name: string;
            /** @description Always true. */
            stored: boolean;
        };
        /** @description The current caller. */
        Who: {
            /** @description The name of the token. */
            name: string;
            /** @description Whether it is an owner token. */
            owner: boolean;
            /** @description Role of the token. */
            role: components["schemas"]["Role"];
            /** @description Whether `POST /api/transcribe` works. */
            transcription: boolean;
            /** @description Public URL of the gateway. */
            url: string | null;
            /** @description The gateway's version. */
            version: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    get_well_known_oauth_protected_resource: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success, in the format of RFC 9728 */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description error with a stable code, in the format of RFC 9728 */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
        };
    };
    get_well_known_oauth_protected_resource_mcp: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success, in the format of RFC 9728 */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description error with a stable code, in the format of RFC 9728 */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
        };
    };
    get_well_known_oauth_protected_resource_mcp_server: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                server: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success, in the format of RFC 9728 */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description error with a stable code, in the format of RFC 9728 */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
        };
    };
    get_api_agents: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["AgentList"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_agents_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["AgentShown"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_approvals: {
        parameters: {
            query?: {
                /** @description Include decided, used and expired ones. */
                all?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ApprovalList"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_approvals_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description Approve or deny.
                     * @enum {string}
                     */
                    decision: "approve" | "deny";
                    /** @description Message to the model, with a denial. */
                    message?: string | null;
                    /**
                     * @description Scope of an approval, `once` by default; `conversation` covers similar calls until the
                     *     conversation is reset; `always` adds the proposed rule to the policy.
                     * @default once
                     */
                    scope?: "once" | "conversation" | "always";
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ApprovalDecided"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_artifacts: {
        parameters: {
            query?: {
                /** @description Only artifacts of this agent. */
                agent?: string | null;
                /** @description Only artifacts of this chat; `results` for large results. */
                chat?: string | null;
                /** @description Maximum number; 100 by default. */
                limit?: number | null;
                /** @description Number to skip. */
                offset?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ArtifactList"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_artifacts: {
        parameters: {
            query: {
                /** @description File name. */
                name: string;
                /** @description Media type; derived from the name by default. */
                type?: string | null;
                /** @description Owning agent; `main` by default. */
                agent?: string | null;
                /** @description Chat to add it to; a new one by default. */
                chat?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "*/*": unknown;
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["KeptFile"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_artifacts_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": unknown;
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    delete_api_artifacts_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ArtifactRemoved"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_artifacts_id_record: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ArtifactRecord"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_artifacts_id_url: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ArtifactLink"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_audit: {
        parameters: {
            query?: {
                /** @description Only tools matching this pattern. */
                tool?: string | null;
                /** @description Only calls of this caller key. */
                caller?: string | null;
                /** @description Only calls for this agent. */
                agent?: string | null;
                /** @description Only this call, by the id in its `x-manyhands-call` response header. */
                call?: string | null;
                /** @description Only `ok` or `error`. */
                status?: ("" | "ok" | "error") | null;
                /** @description Only entries after this number. */
                after?: number | null;
                /** @description Only entries before this number, for the next page. */
                before?: number | null;
                /** @description Maximum number; 100 by default, at most 1000. */
                limit?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["AuditList"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_audit_verify: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["AuditVerdict"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_channels: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ChannelList"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_channels_channel_account_bridge: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                channel: string;
                account: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["BridgeMade"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_channels_channel_account_login: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                channel: string;
                account: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description Slack: app-level token.
                     * @default null
                     */
                    appToken?: string | null;
                    /**
                     * @description Delivery mode: `poll`, `socket` or `webhook`.
                     * @default null
                     */
                    mode?: ("poll" | "socket" | "webhook") | null;
                    /**
                     * @description WhatsApp: the phone number id.
                     * @default null
                     */
                    number?: string | null;
                    /**
                     * @description Secret that authenticates webhooks.
                     * @default null
                     */
                    secret?: string | null;
                    /**
                     * @description Bot token.
                     * @default null
                     */
                    token?: string | null;
                    /**
                     * @description WhatsApp: the verify token entered when the webhook was set up.
                     * @default null
                     */
                    verifyToken?: string | null;
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ChannelLogin"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_channels_channel_account_logout: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                channel: string;
                account: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ChannelLogout"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_channels_channel_account_start: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                channel: string;
                account: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ChannelStarted"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_channels_channel_account_stop: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                channel: string;
                account: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ChannelStopped"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_chat: {
        parameters: {
            query?: {
                /**
                 * @description Seconds to wait for the owner's approval before responding that the run is paused, at most
                 *     600; 0 by default. Does not end a stream.
                 */
                wait?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Agent, unless `sessionKey` names it; `main` by default. */
                    agentId?: string | null;
                    /** @description Text of the message. */
                    message: string;
                    /** @description Pictures of the message. */
                    pictures?: {
                        /** @description Bytes in base64. */
                        data: string;
                        /**
                         * @description Media type, for example `image/png`.
                         * @enum {string}
                         */
                        mimeType: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
                    }[];
                    /**
                     * @description The client's id of this run: sending it again returns the same run instead of starting
                     *     another.
                     */
                    runId?: string | null;
                    /** @description Session: a name, or `agent:NAME:REST`; `main` by default. */
                    sessionKey?: string | null;
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ChatAnswer"];
                    };
                    "text/event-stream": unknown;
                };
            };
            /** @description waiting for the owner's approval */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ChatAnswer"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_chat_stop: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Agent, unless `sessionKey` names it; `main` by default. */
                    agentId?: string | null;
                    /** @description Session; `main` by default. */
                    sessionKey?: string | null;
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ChatStopped"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_config: {
        parameters: {
            query?: {
                /** @description Dotted path; all settings by default. */
                path?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ConfigShown"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    put_api_config: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Dotted path. */
                    path: string;
                    /** @description The new value. */
                    value: unknown;
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ConfigSet"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    delete_api_config: {
        parameters: {
            query: {
                /** @description Dotted path. */
                path: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ConfigSet"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_config_check: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The text. */
                    text: string;
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ConfigChecked"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_config_file: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ConfigFileText"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    put_api_config_file: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The text. A value that is still `***` keeps what it stands for. */
                    text: string;
                    /** @description The version it is based on; another current version is a conflict. */
                    version: string;
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ConfigFileWritten"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_config_reload: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ConfigReloaded"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_config_schema: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ConfigSchema"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_connections: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ConnectionList"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_connections: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Agents that may use it, by pattern; all by default. */
                    agents?: string[] | null;
                    /**
                     * @description Credentials by name. `token` is sent as a bearer token unless the server's headers say
                     *     otherwise; a program receives each as an environment variable.
                     * @default {}
                     */
                    credentials?: {
                        [key: string]: string;
                    };
                    /** @description Display name; the service's name by default. */
                    name?: string | null;
                    /** @description Service: the name of an MCP server, or its `service` setting. */
                    service: string;
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ConnectionRecord"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_connections_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ConnectionRecord"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    put_api_connections_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Agents that may use it, by pattern. */
                    agents?: string[] | null;
                    /**
                     * @description Credentials to set, by name.
                     * @default {}
                     */
                    credentials?: {
                        [key: string]: string;
                    };
                    /** @description New display name. */
                    name?: string | null;
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ConnectionRecord"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    delete_api_connections_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ConnectionRemoved"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_connections_id_test: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ConnectionRecord"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_contacts: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ContactList"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_contacts_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ContactShown"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_directory_servers: {
        parameters: {
            query?: {
                /** @description Words that must all occur in the name, title, description or tags; all servers by default. */
                search?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["DirectoryList"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_doctor: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["Findings"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_enrol: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The code printed by `manyhands nodes code`. */
                    code: string;
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["NodeEnrolled"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_inbox: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["Inbox"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_inbox_id_retry: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["InboxRetried"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_memory: {
        parameters: {
            query: {
                /** @description Search words. */
                query: string;
                /** @description Agent to search; for the owner all by default, for others `main`. */
                agent?: string | null;
                /** @description Maximum number; 20 by default. */
                limit?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["MemoryFound"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_models: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ModelList"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_models_detect: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["DetectedServers"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_models_makers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["MakerList"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_models_providers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description Instead of a preset: base URL of an OpenAI-compatible endpoint. A private address has to be in
                     *     `egress.allow_private`, except for the usual ports of model servers on the gateway's machine.
                     */
                    baseUrl?: string | null;
                    /** @description Whether the model becomes `models.default`; by default only if there is none. */
                    default?: boolean | null;
                    /**
                     * @description API key, stored in the vault under the provider's name. By default the existing key of a preset is used; an
                     *     endpoint gets no other key than this one.
                     */
                    key?: string | null;
                    /** @description Name of the preset. */
                    maker?: string | null;
                    /** @description Model id at the provider; the suggested or only one by default. */
                    model?: string | null;
                    /** @description With `baseUrl`: name of the provider; derived from the URL by default. */
                    name?: string | null;
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ProviderAdded"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    delete_api_models_providers_name: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ProviderRemoved"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_models_test: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description As `provider/model`; `models.default` by default. */
                    model?: string | null;
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ModelTested"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_nodes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["NodeList"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_nodes_codes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * Format: uint64
                     * @description Lifetime of the code in seconds; 900 by default, a week at most.
                     */
                    expiresInSeconds?: number | null;
                    /** @description Name of the node, 1-32 of a-z, 0-9 and -. */
                    nodeId: string;
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["NodeCode"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    delete_api_nodes_id: {
        parameters: {
            query?: {
                /** @description Remove it even if it is connected. */
                force?: boolean;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["NodeForgetResult"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_nodes_id_rename: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The new name. */
                    to: string;
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["NodeRenamed"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_nodes_id_revoke: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["NodeRevoked"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_openapi_json: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_outbox: {
        parameters: {
            query?: {
                /**
                 * @description `pending`, `sending`, `sent`, `failed`, `unknown` or `dropped`; all undelivered ones by
                 *     default.
                 */
                state?: "pending" | "sending" | "sent" | "failed" | "unknown" | "dropped" | null;
                /** @description Maximum number; 100 by default, at most 1000. */
                limit?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["Outbox"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    delete_api_outbox_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["OutboxDropped"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_outbox_id_resend: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["OutboxResent"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_pairs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["PairList"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    delete_api_pairs_channel_who: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                channel: string;
                who: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["PairForgotten"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_pairs_channel_who_approve: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                channel: string;
                who: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description Whether this is the owner.
                     * @default false
                     */
                    owner?: boolean;
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["PairApproved"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_pairs_channel_who_reject: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                channel: string;
                who: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["PairRejected"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_policy: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["RuleList"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_policy_explain: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Agent the call is made for; `main` by default. */
                    agent?: string | null;
                    /**
                     * @description Its arguments.
                     * @default null
                     */
                    arguments?: unknown;
                    /**
                     * @description Whether the agent makes the call in a turn, rather than the token's bearer directly.
                     * @default false
                     */
                    byAgent?: boolean;
                    /** @description Token name of the caller. */
                    name?: string | null;
                    /** @description Role of the caller; `owner` by default. */
                    role?: ("owner" | "client" | "node" | "read-only" | "channel") | null;
                    /**
                     * @description Whether untrusted text was read before.
                     * @default false
                     */
                    tainted?: boolean;
                    /** @description The tool. */
                    tool: string;
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["Judged"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_resources: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ResourceList"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_resources: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description Purpose.
                     * @default
                     */
                    description?: string;
                    /**
                     * @description Agents that may use it.
                     * @default []
                     */
                    grants?: {
                        /** @description The agent. */
                        agent: string;
                        /** @description What it may do. */
                        level: "read" | "write" | "admin";
                    }[];
                    /** @description What it contains. */
                    kind: "datastore" | "filestore" | "knowledge" | "vault";
                    /** @description Its name. */
                    name: string;
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["CollectionRecord"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_resources_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ResourceShown"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    delete_api_resources_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ResourceRemoved"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    put_api_resources_id_grants_agent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                agent: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Access level. */
                    level: "read" | "write" | "admin";
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ResourceGranted"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    delete_api_resources_id_grants_agent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ResourceRevoked"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    put_api_resources_id_secrets_name: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description Hosts it may be sent to, such as `api.example.com` or `*.example.com`.
                     * @default []
                     */
                    hosts?: string[];
                    /** @description The value. */
                    value: string;
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["VaultSecretStored"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    delete_api_resources_id_secrets_name: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["VaultSecretRemoved"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_rules_templates: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["RuleTemplate"][];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_search: {
        parameters: {
            query: {
                /** @description Words that a message must contain, at most 1,000 characters; the last one may be the beginning of a word. */
                query: string;
                /** @description Only sessions of this agent; all by default. */
                agent?: string | null;
                /** @description Maximum number; 20 by default. */
                limit?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["MessageMatches"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_secrets: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["SecretNames"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    put_api_secrets_name: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The value, at least 8 characters. */
                    value: string;
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["SecretStored"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    delete_api_secrets_name: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["SecretRemoved"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_servers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ServerList"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_servers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description Its arguments.
                     * @default []
                     */
                    args?: string[];
                    /** @description Program to run on the gateway's machine; needs `confirm`. */
                    command?: string | null;
                    /**
                     * @description Confirms that the command shown by the preview may run on the gateway's machine.
                     * @default false
                     */
                    confirm?: boolean;
                    /** @description Name in the directory; a local command needs `confirm`. */
                    directory?: string | null;
                    /**
                     * @description Its environment variables.
                     * @default {}
                     */
                    env?: {
                        [key: string]: string;
                    };
                    /**
                     * @description Its headers.
                     * @default {}
                     */
                    headers?: {
                        [key: string]: string;
                    };
                    /** @description JSON as it stands in READMEs; a local command needs `confirm`. */
                    json?: string | null;
                    /** @description Name: 1-32 of A-Z, a-z, 0-9, - and _. Of pasted JSON with several servers, the one to add. */
                    name?: string | null;
                    /** @description Secrets by name, stored in the vault. */
                    secrets?: {
                        [key: string]: string;
                    };
                    /** @description The entry under `mcpServers` in config.toml, for remote servers with a `url`. */
                    server?: {
                        /**
                         * @description Agents that may use it, by name.
                         * @default [
                         *       "*"
                         *     ]
                         */
                        agents?: string[];
                        /**
                         * @description Arguments.
                         * @default []
                         */
                        args?: string[];
                        /**
                         * @description Announce to the server that it may ask questions (elicitation), for servers that offer some tools only then. Clients at `/mcp/NAME`
                         *     are always asked; for other callers, questions are declined.
                         * @default false
                         */
                        asks?: boolean;
                        /**
                         * @description The program to start.
                         * @default null
                         */
                        command?: string | null;
                        /**
                         * @description Working directory. Default: a private one.
                         * @default null
                         */
                        cwd?: string | null;
                        /**
                         * @description Replaces descriptions of tools, by the server's names.
                         * @default {}
                         */
                        descriptions?: {
                            [key: string]: string;
                        };
                        /**
                         * @description Enable the server.
                         * @default true
                         */
                        enabled?: boolean;
                        /**
                         * @description Environment variables. A value may contain `${NAME}`: a credential of the selected connection, or else a
                         *     secret of the vault.
                         * @default {}
                         */
                        env?: {
                            [key: string]: string;
                        };
                        /**
                         * @description For a command in the sandbox: folders it may read and write, besides its own.
                         * @default []
                         */
                        folders?: string[];
                        /**
                         * @description HTTP headers to send with every request; values as in `env`.
                         * @default {}
                         */
                        headers?: {
                            [key: string]: string;
                        };
                        /**
                         * @description Tools to exclude from those.
                         * @default []
                         */
                        hide?: string[];
                        /**
                         * @description Hold tools that appear later until you accept them, like changed ones.
                         * @default false
                         */
                        holdNew?: boolean;
                        /**
                         * @description For a command in the sandbox: allow network access.
                         * @default true
                         */
                        network?: boolean;
                        /**
                         * @description OAuth settings, if the server does not announce them itself.
                         * @default null
                         */
                        oauth?: {
                            /**
                             * @description Client id, if the server does not support dynamic registration.
                             * @default null
                             */
                            clientId?: string | null;
                            /**
                             * @description Client secret, as `vault:NAME`.
                             * @default null
                             */
                            clientSecret?: string | null;
                            /**
                             * @description Scopes to request. Default: those the server announces.
                             * @default []
                             */
                            scopes?: string[];
                        } | null;
                        /**
                         * @description OpenAPI document of an HTTP service, a file or a URL: each operation becomes a tool of the server
                         *     `dynamic/NAME`. `url` is the service's URL if the document has none. Hosts are accepted together with the
                         *     tools, and a document that names others later is held until you accept it. Private addresses have to be in
                         *     `egress.allow_private`.
                         * @default null
                         */
                        openapi?: string | null;
                        /**
                         * @description Renames tools: the server's name, then ours.
                         * @default {}
                         */
                        rename?: {
                            [key: string]: string;
                        };
                        /**
                         * @description For a local command: `on` confines it to its own folder and read-only system files; `off` runs it with the
                         *     permissions of the gateway's user.
                         * @default off
                         */
                        sandbox?: "on" | "off";
                        /**
                         * @description Service whose connections it uses. Default: its own name.
                         * @default null
                         */
                        service?: string | null;
                        /**
                         * Format: uint64
                         * @description Timeout of a call in seconds, not counting the time a person needs to answer the server's questions.
                         * @default 60
                         */
                        timeout?: number;
                        /**
                         * @description Tokens that may use it, by name; the owner's always may.
                         * @default [
                         *       "*"
                         *     ]
                         */
                        tokens?: string[];
                        /**
                         * @description Tools to offer, by the server's names.
                         * @default [
                         *       "*"
                         *     ]
                         */
                        tools?: string[];
                        /**
                         * @description Transport: `stdio`, `http` or `sse`. Default: derived from `command` or `url`; an `http` server that only
                         *     supports the older `sse` is detected.
                         * @default null
                         */
                        type?: ("stdio" | "http" | "sse") | null;
                        /**
                         * @description URL.
                         * @default null
                         */
                        url?: string | null;
                    } | null;
                    /** @description URL of a remote server. */
                    url?: string | null;
                    /**
                     * @description Values that are not secret, by name.
                     * @default {}
                     */
                    values?: {
                        [key: string]: string;
                    };
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ServerAdded"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_servers_import: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ImportList"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_servers_import: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The program. */
                    client: string;
                    /**
                     * @description Whether the local commands among them, as the list shows them, may run.
                     * @default false
                     */
                    confirm?: boolean;
                    /** @description Names of its servers. */
                    names: string[];
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ServersImported"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_servers_preview: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description Its arguments.
                     * @default []
                     */
                    args?: string[];
                    /** @description Program to run on the gateway's machine. */
                    command?: string | null;
                    /** @description Name in the directory. */
                    directory?: string | null;
                    /**
                     * @description Its environment variables.
                     * @default {}
                     */
                    env?: {
                        [key: string]: string;
                    };
                    /**
                     * @description Its headers.
                     * @default {}
                     */
                    headers?: {
                        [key: string]: string;
                    };
                    /** @description JSON as it stands in READMEs. */
                    json?: string | null;
                    /** @description Name: 1-32 of A-Z, a-z, 0-9, - and _. Of pasted JSON with several servers, the one to add. */
                    name?: string | null;
                    /** @description URL of a remote server. */
                    url?: string | null;
                    /**
                     * @description Values that are not secret, by name.
                     * @default {}
                     */
                    values?: {
                        [key: string]: string;
                    };
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ServerPreview"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_servers_name: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ServerShown"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    put_api_servers_name: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Tools to disable, by the server's names; replaces the previous ones. */
                    disabledTools?: string[] | null;
                    /** @description Whether it is enabled. */
                    enabled?: boolean | null;
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ServerView"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    delete_api_servers_name: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ServerRemoved"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_servers_name_accept: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Fingerprint of each tool as reviewed. Definitions changed since are not accepted. */
                    fingerprints?: {
                        [key: string]: string;
                    } | null;
                    /** @description Name of the tool at the server; all held back by default. */
                    tool?: string | null;
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ServerAccepted"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_servers_name_log: {
        parameters: {
            query?: {
                /** @description Number of lines; 200 by default. */
                lines?: number | null;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ServerLog"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_servers_name_login: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["LoginStatus"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_servers_name_login: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description PCID of an account created by an earlier login; the first one by default.
                     * @default null
                     */
                    connection?: string | null;
                    /**
                     * @description Name of an additional account.
                     * @default null
                     */
                    name?: string | null;
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["LoginBegun"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    delete_api_servers_name_login: {
        parameters: {
            query?: {
                /** @description PCID of the account; required if there are several. */
                connection?: string | null;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["LoginEnded"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_servers_name_refresh: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ServerView"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["Who"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_session_link: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["LoginLink"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_session_login: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Code of a login link, valid once. */
                    code: string;
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["LoggedIn"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_session_logout: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["LoggedOut"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_sessions: {
        parameters: {
            query?: {
                /** @description Only sessions of this agent; all by default. */
                agent?: string | null;
                /** @description Maximum number; 50 by default. */
                limit?: number | null;
                /** @description Number to skip. */
                offset?: number;
                /** @description Whether to list the archived sessions, and only these. */
                archived?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["SessionList"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_sessions_key: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["SessionShown"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    delete_api_sessions_key: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["SessionDeleted"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_sessions_key_branch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Label of the new session, at most 200 characters. */
                    label?: string | null;
                    /**
                     * Format: int64
                     * @description Number of the user message before which the new session ends.
                     */
                    seq: number;
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["Branched"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_sessions_key_compact: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * Format: uint
                     * @description Number of latest messages to keep in the context; 20 by default.
                     */
                    keep?: number | null;
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["SessionCompacted"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_sessions_key_messages: {
        parameters: {
            query?: {
                /** @description Maximum number; 50 by default. */
                limit?: number | null;
                /** @description Only messages before this number. */
                before?: number | null;
                /** @description The messages around this number. */
                around?: number | null;
                /** @description Only messages after this number. */
                after?: number | null;
            };
            header?: never;
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["SessionMessages"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_sessions_key_patch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Whether it is archived. */
                    archived?: boolean | null;
                    /**
                     * @description The folder it is listed in, at most 100 characters; null or an empty text removes it from its folder.
                     * @default null
                     */
                    folder?: string | null;
                    /**
                     * @description Label set by the user.
                     * @default null
                     */
                    label?: string | null;
                    /**
                     * Format: uint32
                     * @description Most tokens per reply.
                     * @default null
                     */
                    maxTokens?: number | null;
                    /**
                     * @description As `provider/model`. Only for the owner.
                     * @default null
                     */
                    model?: string | null;
                    /** @description Whether it is listed first. */
                    pinned?: boolean | null;
                    /**
                     * @description `{"mode":"manual"}`, `{"mode":"daily","atHour":4}` or `{"mode":"idle","idleMinutes":60}`.
                     * @default null
                     */
                    resetPolicy?: ({
                        /** @constant */
                        mode: "manual";
                    } | {
                        /**
                         * Format: uint8
                         * @description Hour of the day, in the user's time zone.
                         */
                        atHour: number;
                        /** @constant */
                        mode: "daily";
                    } | {
                        /**
                         * Format: uint32
                         * @description Length of that period, in minutes.
                         */
                        idleMinutes: number;
                        /** @constant */
                        mode: "idle";
                    }) | null;
                    /**
                     * @description Extra system prompt. Only for the owner.
                     * @default null
                     */
                    systemPrompt?: string | null;
                    /**
                     * @description Reasoning level.
                     * @default null
                     */
                    thinkingLevel?: ("none" | "minimal" | "low" | "medium" | "high" | "xhigh") | null;
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["SessionShown"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_sessions_key_pictures_seq_index: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: string;
                seq: number;
                index: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "image/*": unknown;
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_sessions_key_reset: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["SessionReset"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_sessions_key_rewind: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * Format: int64
                     * @description Number of the user message; it and everything after it is removed.
                     */
                    seq: number;
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["Rewound"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_sessions_key_tree: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["SessionTree"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_skills: {
        parameters: {
            query?: {
                /** @description Agent; `main` by default. */
                agent?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["SkillsStatusResult"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_skills_name: {
        parameters: {
            query?: {
                /** @description Agent; `main` by default. */
                agent?: string | null;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["SkillShown"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_skills_name: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Agent whose view is returned; `main` by default. The change applies to every agent. */
                    agent?: string | null;
                    /** @description Enabled or disabled. */
                    enabled: boolean;
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["SkillSwitched"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_todos: {
        parameters: {
            query?: {
                /** @description Maximum number of completed items, newest first; 100 by default. */
                done?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["TodoList"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_tokens: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["TokenList"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_tokens: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description Agents it may act for and talk to; `main` by default, all for an owner.
                     * @default []
                     */
                    agents?: string[];
                    /**
                     * Format: uint64
                     * @description Lifetime in seconds; unlimited by default.
                     */
                    expiresInSeconds?: number | null;
                    /** @description Name, 1-64 characters. */
                    name: string;
                    /** @description Role of its bearer. */
                    role: "owner" | "client" | "node" | "read-only" | "channel";
                    /**
                     * @description Tools it may call; all by default.
                     * @default []
                     */
                    tools?: string[];
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["TokenMade"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    delete_api_tokens_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["TokenRevoked"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_tools: {
        parameters: {
            query?: {
                /** @description `all` by default; `small`, one of `mcp.profiles`, or `default` for the profile of `/mcp`. */
                profile?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["ToolList"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    capabilities_discover: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Read everything again instead of using the cache. */
                    bypassCache?: boolean | null;
                    /** @description Skill context filter. If omitted, returns all skills. */
                    context?: ("workflow-creation" | "agent-execution") | null;
                    /** @description Include why each item was recommended, and what a model was asked if one was, in _metadata. */
                    debug?: boolean | null;
                    /** @description Natural language description of the task (e.g., "process vendor invoices", "send email with attachments"). */
                    request: string;
                    /** @description Filter results to specific capability types. If omitted, returns all types. */
                    types?: ("tool" | "agentSkill" | "connection" | "resource")[] | null;
                };
            };
        };
        responses: {
            /** @description the result */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        /** @description Matching capabilities, best first. */
                        result: {
                            /** @description Why each was recommended, if requested. */
                            _metadata?: unknown;
                            /** @description Number of connections per service, where only one of several was picked. */
                            alternativesAvailable?: {
                                [key: string]: number;
                            };
                            /** @description How the results were found. */
                            note?: string | null;
                            results: {
                                /** @description Likelihood that it is what was asked for, between 0 and 1. */
                                confidence: number;
                                /** @description One-line description. */
                                description: string;
                                /** @description Whether a skill about it exists. */
                                hasSkill?: boolean;
                                /** @description PCID of a connection, collectionId of a resource; else the name. */
                                id: string;
                                /** @description The exact name, for capability_details. */
                                name: string;
                                /** @description The server of a tool, the service of a connection, the kind of a resource. */
                                server?: string;
                                /** @description A type of capability. */
                                type: "tool" | "agentSkill" | "connection" | "resource";
                            }[];
                            /** @description The steps a long request was split into. */
                            steps?: string[];
                        };
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    contacts_send: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Optional chat hint (for example `tg:-1001234567890`, `slack:T001:C002`, `line:Cgroup001`). */
                    chat_id?: string | null;
                    /** @description Target contact ID. */
                    contact_id: string;
                    /** @description Payload type; must be `application/json`, which it is when not given. */
                    content_type?: string | null;
                    /** @description base64url-encoded envelope JSON: `message_id`, `text`, `sent_at` (RFC3339), `session_id` (UUIDv7), and perhaps `reply_to`. */
                    message_base64?: string | null;
                    /** @description Message text; it is wrapped into an envelope. This or `message_base64` is required. */
                    message_text?: string | null;
                    /** @description Optional reply target `message_id`. */
                    reply_to?: string | null;
                    /** @description Session ID (UUIDv7). */
                    session_id?: string | null;
                };
            };
        };
        responses: {
            /** @description the result */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        /** @description The outcome. */
                        result: {
                            /** @description The platform. */
                            channel: string;
                            /** @description The chat. */
                            chat_id: string;
                            /** @description The contact. */
                            contact_id: string;
                            /** @description Delivery state. */
                            delivery: {
                                /** @description By which it is looked up. */
                                id: string;
                                /** @description Why it is not further, where the platform says so. */
                                reason?: string | null;
                                /** @description How far it is, such as `pending` or `sent`. */
                                state: string;
                            };
                            /**
                             * @description Idempotency key: the same message to the same chat has the same key for an hour and is sent
                             *     once.
                             */
                            idempotency_key: string;
                            /** @description The message. */
                            message_id: string;
                            /** @description Whether it was accepted. */
                            ok: boolean;
                            /** @description Whether it was already sent within the hour; the delivery is that of the first. */
                            repeated?: boolean;
                            /** @description The message it replies to. */
                            reply_to?: string | null;
                            /** @description When it was sent. */
                            sent_at: string;
                            /** @description The session it belongs to. */
                            session_id: string;
                            /** @description Always `chat.message`. */
                            topic: string;
                        };
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    gsv__ReadFile: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description Path relative to the workspace root. Omit it or use "/" to list the root.
                     *     Examples: "SOUL.md", "memory/", "skills/summarize/SKILL.md".
                     */
                    path?: string | null;
                };
            };
        };
        responses: {
            /** @description the result */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        /** @description A file with its content, or a directory with what is in it. */
                        result: {
                            /** @description The text of the file. */
                            content: string;
                            /** @description When it was last written, RFC 3339. */
                            lastModified?: string | null;
                            /** @description The requested path. */
                            path: string;
                            /** @description For `skills/*`: the key that was read. */
                            resolvedPath?: string | null;
                            /** @description For `skills/*`: which copy was found. */
                            resolvedSource?: ("agent" | "global") | null;
                            /** @description Its size in bytes. */
                            size: number;
                        } | {
                            /** @description Directories in it, as paths from the workspace root, each ending in "/". */
                            directories: string[];
                            /** @description Files in it, as paths from the workspace root. */
                            files: string[];
                            /** @description The requested path. */
                            path: string;
                        };
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    gsv__WriteFile: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Content to write. */
                    content: string;
                    /** @description File path relative to the workspace root. */
                    path: string;
                };
            };
        };
        responses: {
            /** @description the result */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        /** @description The outcome. */
                        result: {
                            /** @description The content type, from the extension. */
                            contentType: string;
                            /** @description The requested path. */
                            path: string;
                            /** @description The size in bytes. */
                            size: number;
                            /** @description Always true: a failed write is an error. */
                            written: boolean;
                        };
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    todo_update: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description `add`, `complete`, or `add_recurring`.
                     * @enum {string}
                     */
                    action: "add" | "complete" | "add_recurring";
                    /** @description Task-context chat ID (for example `tg:-1001234567890`); the current Telegram chat when not given. */
                    chat_id?: string | null;
                    /** @description For `add`: item text. For `complete`: matching query, an item's text, a part of it, or its id. */
                    content: string;
                    /** @description For `add_recurring`: when it is first due, as `YYYY-MM-DD HH:MM`. */
                    next?: string | null;
                    /**
                     * @description Mentioned people (usually speaker, addressee, and other mentioned users), by name or reference id. `$SPEAKER` is
                     *     whoever speaks, `$AGENT` is you. Required for `add`.
                     */
                    people?: string[] | null;
                    /** @description For `add_recurring`: `daily`, `weekly`, `every N days` or `every N hours`. */
                    repeat?: string | null;
                    /** @description For `add_recurring`: the time zone of `next`, such as `Europe/Berlin`; UTC when not given. */
                    tz?: string | null;
                };
            };
        };
        responses: {
            /** @description the result */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        /** @description The outcome. */
                        result: {
                            /**
                             * @description The action.
                             * @enum {string}
                             */
                            action: "add" | "complete" | "add_recurring";
                            /** @description Number of changed lines. */
                            changed: {
                                /** @description Lines added to TODO.DONE.md. */
                                done_added: number;
                                /** @description Lines added to TODO.RECUR.md. */
                                recurring_added?: number | null;
                                /** @description Lines added to TODO.md. */
                                wip_added: number;
                                /** @description Lines removed from TODO.md. */
                                wip_removed: number;
                            };
                            /** @description The affected item. */
                            entry: {
                                /** @description Chat it came from. */
                                chat_id?: string | null;
                                /** @description Text. */
                                content: string;
                                /** @description When it was added, in UTC. */
                                created_at?: string | null;
                                /** @description When it was completed, in UTC. */
                                done_at?: string | null;
                                /** @description Its id; `complete` accepts it as `content`. */
                                id: string;
                                /** @description When it is next due. */
                                next?: string | null;
                                /** @description How it recurs. */
                                repeat?: string | null;
                                /** @description Time zone of `next`. */
                                tz?: string | null;
                            };
                            /** @description Whether the operation succeeded. */
                            ok: boolean;
                            /** @description Open duplicates that were removed. */
                            removed?: {
                                /** @description Chat it came from. */
                                chat_id?: string | null;
                                /** @description Text. */
                                content: string;
                                /** @description When it was added, in UTC. */
                                created_at?: string | null;
                                /** @description When it was completed, in UTC. */
                                done_at?: string | null;
                                /** @description Its id; `complete` accepts it as `content`. */
                                id: string;
                                /** @description When it is next due. */
                                next?: string | null;
                                /** @description How it recurs. */
                                repeat?: string | null;
                                /** @description Time zone of `next`. */
                                tz?: string | null;
                            }[];
                            /** @description Number of items after the change. */
                            updated_counts: {
                                /** @description Done items. */
                                done_count: number;
                                /** @description Open items. */
                                open_count: number;
                            };
                            /** @description Warnings, such as `reference_unresolved_write_raw`. */
                            warnings?: string[];
                        };
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_tools_name: {
        parameters: {
            query?: {
                /** @description Agent the call is made for, with its workspace; `main` by default. */
                agent?: string | null;
                /** @description Seconds to wait for the owner's approval, at most 600; 0 by default. */
                wait?: number | null;
                /** @description Seconds the call may take, if less than the tool's own limit. */
                timeout?: number | null;
                /**
                 * @description PCID of the account to use with a tool of an MCP server; the first of its service by
                 *     default.
                 */
                connection?: string | null;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    [key: string]: unknown;
                };
            };
        };
        responses: {
            /** @description result of the tool */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_transcribe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "audio/*": unknown;
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["Transcribed"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_trigger_id: {
        parameters: {
            query?: {
                /** @description Agent the call is made for, with its workspace; `main` by default. */
                agent?: string | null;
                /** @description Seconds to wait for the owner's approval, at most 600; 0 by default. */
                wait?: number | null;
                /** @description Seconds the call may take, if less than the tool's own limit. */
                timeout?: number | null;
                /**
                 * @description PCID of the account to use with a tool of an MCP server; the first of its service by
                 *     default.
                 */
                connection?: string | null;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    [key: string]: unknown;
                };
            };
        };
        responses: {
            /** @description result of the tool */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_trust: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["UntrustedList"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_api_trust: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Id, as listed. */
                    id: string;
                    /** @description What kind of object. */
                    kind: "file" | "agent" | "job" | "session";
                };
            };
        };
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["Trusted"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_usage: {
        parameters: {
            query?: {
                /** @description Number of days including today; 30 by default. */
                days?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["UsageList"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_api_usage_calls: {
        parameters: {
            query?: {
                /** @description Number of days including today; 30 by default. */
                days?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        result: components["schemas"]["CallUsage"];
                    };
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_artifacts_id: {
        parameters: {
            query: {
                /** @description Expiry, in seconds since 1970. */
                expires: number;
                /** @description Signature. */
                signature: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": unknown;
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_healthz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": unknown;
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_hooks_channel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                channel: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success, in what the platform expects */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description error with a stable code, in what the platform expects */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
        };
    };
    post_hooks_channel_account: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                channel: string;
                account: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success, in what the platform expects */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description error with a stable code, in what the platform expects */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
        };
    };
    get_metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": unknown;
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    get_oauth_callback: {
        parameters: {
            query?: {
                /** @description What was sent along. */
                state?: string | null;
                /** @description What a token is given for. */
                code?: string | null;
                /** @description Who says so. */
                iss?: string | null;
                /** @description Why there is no code. */
                error?: string | null;
                /** @description More about that. */
                error_description?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": unknown;
                };
            };
            /** @description error page */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": unknown;
                };
            };
        };
    };
    get_oauth_client_json: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success, in the format of client id metadata documents */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description error with a stable code, in the format of client id metadata documents */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
        };
    };
    get_readyz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": unknown;
                };
            };
            /** @description error with a stable code */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
        };
    };
    post_v1_chat_completions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** Format: double */
                    frequency_penalty?: number | null;
                    /** @description Bias of tokens, by token id. */
                    logit_bias?: {
                        [key: string]: unknown;
                    } | null;
                    /**
                     * Format: uint32
                     * @description Newer name of `max_tokens`.
                     */
                    max_completion_tokens?: number | null;
                    /**
                     * Format: uint32
                     * @description Most tokens per reply of the agent's model.
                     */
                    max_tokens?: number | null;
                    /** @description The conversation. */
                    messages: {
                        /** @description Text, or a list of texts and images. */
                        content?: (string | ({
                            text: string;
                            /** @constant */
                            type: "text";
                        } | {
                            image_url: {
                                /** @description A data URL: `data:image/png;base64,...`. */
                                url: string;
                            } | string;
                            /** @constant */
                            type: "image_url";
                        } | {
                            refusal: string;
                            /** @constant */
                            type: "refusal";
                        })[]) | null;
                        /** @description The assistant's reasoning. */
                        reasoning_content?: string | null;
                        /** @enum {string} */
                        role: "system" | "developer" | "user" | "assistant" | "tool";
                        /** @description The call that a message with role `tool` answers. */
                        tool_call_id?: string | null;
                        /** @description The assistant's calls of client tools. */
                        tool_calls?: {
                            function: {
                                /**
                                 * @description JSON text.
                                 * @default
                                 */
                                arguments?: string;
                                name: string;
                            };
                            id: string;
                        }[] | null;
                    }[];
                    /**
                     * @description `session`: the session to send the last message to, unless the header `x-session-key` names
                     *     one. Other keys are accepted and ignored.
                     */
                    metadata?: {
                        /** @description Session key. */
                        session?: string | null;
                    } | null;
                    /** @description The agent: `agent/NAME` or `NAME`. */
                    model: string;
                    /**
                     * Format: uint32
                     * @description Number of answers: only 1.
                     */
                    n?: number | null;
                    parallel_tool_calls?: boolean | null;
                    /** Format: double */
                    presence_penalty?: number | null;
                    /** @description Reasoning effort. */
                    reasoning_effort?: ("none" | "minimal" | "low" | "medium" | "high" | "xhigh") | null;
                    response_format?: ({
                        /** @constant */
                        type: "text";
                    } | {
                        /** @constant */
                        type: "json_object";
                    } | {
                        json_schema: {
                            /** @description The JSON Schema. */
                            schema: {
                                [key: string]: unknown;
                            };
                        };
                        /** @constant */
                        type: "json_schema";
                    }) | null;
                    /** Format: int64 */
                    seed?: number | null;
                    /** @description Stop sequences. */
                    stop?: (string | string[]) | null;
                    /** @description Whether to stream the response. */
                    stream?: boolean | null;
                    /** @description Options of a stream. */
                    stream_options?: {
                        /**
                         * @description Whether the last chunk contains the usage.
                         * @default null
                         */
                        include_usage?: boolean | null;
                    } | null;
                    /** Format: double */
                    temperature?: number | null;
                    tool_choice?: (("auto" | "none" | "required") | {
                        function: {
                            name: string;
                        };
                    }) | null;
                    /** @description Tools the client runs, besides the agent's own. */
                    tools?: {
                        function: {
                            description?: string | null;
                            name: string;
                            /** @description JSON Schema of its arguments. */
                            parameters?: {
                                [key: string]: unknown;
                            } | null;
                        };
                        /** @constant */
                        type: "function";
                    }[] | null;
                    /** Format: uint32 */
                    top_k?: number | null;
                    /** Format: double */
                    top_p?: number | null;
                };
            };
        };
        responses: {
            /** @description success, in OpenAI's format */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/event-stream": unknown;
                };
            };
            /** @description error with a stable code, in OpenAI's format */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
        };
    };
    post_v1_messages: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * Format: uint32
                     * @description Most tokens per reply of the agent's model.
                     */
                    max_tokens?: number | null;
                    /** @description The conversation. */
                    messages: {
                        /** @description Contents of a message. */
                        content: string | ({
                            text: string;
                            /** @constant */
                            type: "text";
                        } | {
                            /** @description Source of an image. */
                            source: {
                                data: string;
                                media_type: string;
                                /** @constant */
                                type: "base64";
                            };
                            /** @constant */
                            type: "image";
                        } | {
                            id: string;
                            input?: {
                                [key: string]: unknown;
                            } | null;
                            name: string;
                            /** @constant */
                            type: "tool_use";
                        } | {
                            content?: (string | ({
                                text: string;
                                /** @constant */
                                type: "text";
                            } | {
                                /** @description Source of an image. */
                                source: {
                                    data: string;
                                    media_type: string;
                                    /** @constant */
                                    type: "base64";
                                };
                                /** @constant */
                                type: "image";
                            })[]) | null;
                            is_error?: boolean | null;
                            tool_use_id: string;
                            /** @constant */
                            type: "tool_result";
                        } | {
                            thinking: string;
                            /** @constant */
                            type: "thinking";
                        } | {
                            /** @constant */
                            type: "redacted_thinking";
                        })[];
                        /** @enum {string} */
                        role: "user" | "assistant" | "system";
                    }[];
                    /**
                     * @description `session`: the session to send the last message to, unless the header `x-session-key` names
                     *     one.
                     */
                    metadata?: {
                        /** @description Session key. */
                        session?: string | null;
                    } | null;
                    /** @description The agent: `agent/NAME` or `NAME`. */
                    model: string;
                    output_config?: {
                        /** @enum {string|null} */
                        effort?: "low" | "medium" | "high" | "xhigh" | "max" | null;
                        format?: {
                            schema: {
                                [key: string]: unknown;
                            };
                            /** @constant */
                            type: "json_schema";
                        } | null;
                    } | null;
                    /** @description Stop sequences. */
                    stop_sequences?: string[] | null;
                    /** @description Whether to stream the response. */
                    stream?: boolean | null;
                    /** @description System prompt. */
                    system?: (string | {
                        text: string;
                    }[]) | null;
                    /** Format: double */
                    temperature?: number | null;
                    thinking?: ({
                        /** Format: uint32 */
                        budget_tokens: number;
                        /** @constant */
                        type: "enabled";
                    } | {
                        /** @constant */
                        type: "adaptive";
                    } | {
                        /** @constant */
                        type: "disabled";
                    }) | null;
                    tool_choice?: ({
                        disable_parallel_tool_use?: boolean | null;
                        /** @constant */
                        type: "auto";
                    } | {
                        disable_parallel_tool_use?: boolean | null;
                        /** @constant */
                        type: "any";
                    } | {
                        disable_parallel_tool_use?: boolean | null;
                        name: string;
                        /** @constant */
                        type: "tool";
                    } | {
                        /** @constant */
                        type: "none";
                    }) | null;
                    /** @description Tools the client runs, besides the agent's own. */
                    tools?: {
                        description?: string | null;
                        /** @description JSON Schema of its arguments. */
                        input_schema?: {
                            [key: string]: unknown;
                        } | null;
                        name: string;
                        /**
                         * @description `custom` by default. Tools that Anthropic would run (`web_search_...`, `web_fetch_...`,
                         *     `code_execution_...`) are ignored, since the agent has its own.
                         */
                        type?: string | null;
                    }[] | null;
                    /** Format: uint32 */
                    top_k?: number | null;
                    /** Format: double */
                    top_p?: number | null;
                };
            };
        };
        responses: {
            /** @description success, in Anthropic's format */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/event-stream": unknown;
                };
            };
            /** @description error with a stable code, in Anthropic's format */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
        };
    };
    post_v1_messages_count_tokens: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * Format: uint32
                     * @description Most tokens per reply of the agent's model.
                     */
                    max_tokens?: number | null;
                    /** @description The conversation. */
                    messages: {
                        /** @description Contents of a message. */
                        content: string | ({
                            text: string;
                            /** @constant */
                            type: "text";
                        } | {
                            /** @description Source of an image. */
                            source: {
                                data: string;
                                media_type: string;
                                /** @constant */
                                type: "base64";
                            };
                            /** @constant */
                            type: "image";
                        } | {
                            id: string;
                            input?: {
                                [key: string]: unknown;
                            } | null;
                            name: string;
                            /** @constant */
                            type: "tool_use";
                        } | {
                            content?: (string | ({
                                text: string;
                                /** @constant */
                                type: "text";
                            } | {
                                /** @description Source of an image. */
                                source: {
                                    data: string;
                                    media_type: string;
                                    /** @constant */
                                    type: "base64";
                                };
                                /** @constant */
                                type: "image";
                            })[]) | null;
                            is_error?: boolean | null;
                            tool_use_id: string;
                            /** @constant */
                            type: "tool_result";
                        } | {
                            thinking: string;
                            /** @constant */
                            type: "thinking";
                        } | {
                            /** @constant */
                            type: "redacted_thinking";
                        })[];
                        /** @enum {string} */
                        role: "user" | "assistant" | "system";
                    }[];
                    /**
                     * @description `session`: the session to send the last message to, unless the header `x-session-key` names
                     *     one.
                     */
                    metadata?: {
                        /** @description Session key. */
                        session?: string | null;
                    } | null;
                    /** @description The agent: `agent/NAME` or `NAME`. */
                    model: string;
                    output_config?: {
                        /** @enum {string|null} */
                        effort?: "low" | "medium" | "high" | "xhigh" | "max" | null;
                        format?: {
                            schema: {
                                [key: string]: unknown;
                            };
                            /** @constant */
                            type: "json_schema";
                        } | null;
                    } | null;
                    /** @description Stop sequences. */
                    stop_sequences?: string[] | null;
                    /** @description Whether to stream the response. */
                    stream?: boolean | null;
                    /** @description System prompt. */
                    system?: (string | {
                        text: string;
                    }[]) | null;
                    /** Format: double */
                    temperature?: number | null;
                    thinking?: ({
                        /** Format: uint32 */
                        budget_tokens: number;
                        /** @constant */
                        type: "enabled";
                    } | {
                        /** @constant */
                        type: "adaptive";
                    } | {
                        /** @constant */
                        type: "disabled";
                    }) | null;
                    tool_choice?: ({
                        disable_parallel_tool_use?: boolean | null;
                        /** @constant */
                        type: "auto";
                    } | {
                        disable_parallel_tool_use?: boolean | null;
                        /** @constant */
                        type: "any";
                    } | {
                        disable_parallel_tool_use?: boolean | null;
                        name: string;
                        /** @constant */
                        type: "tool";
                    } | {
                        /** @constant */
                        type: "none";
                    }) | null;
                    /** @description Tools the client runs, besides the agent's own. */
                    tools?: {
                        description?: string | null;
                        /** @description JSON Schema of its arguments. */
                        input_schema?: {
                            [key: string]: unknown;
                        } | null;
                        name: string;
                        /**
                         * @description `custom` by default. Tools that Anthropic would run (`web_search_...`, `web_fetch_...`,
                         *     `code_execution_...`) are ignored, since the agent has its own.
                         */
                        type?: string | null;
                    }[] | null;
                    /** Format: uint32 */
                    top_k?: number | null;
                    /** Format: double */
                    top_p?: number | null;
                };
            };
        };
        responses: {
            /** @description success, in Anthropic's format */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description error with a stable code, in Anthropic's format */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
        };
    };
    get_v1_models: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success, in OpenAI's format */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description error with a stable code, in OpenAI's format */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
        };
    };
    get_v1_models_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description success, in OpenAI's format */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description error with a stable code, in OpenAI's format */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
        };
    };
    post_v1_responses: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Input: a text or a conversation. */
                    input?: (string | (({
                        content: string | ({
                            text: string;
                            /** @constant */
                            type: "input_text";
                        } | {
                            text: string;
                            /** @constant */
                            type: "output_text";
                        } | {
                            refusal: string;
                            /** @constant */
                            type: "refusal";
                        } | {
                            /** @description A data URL: `data:image/png;base64,...`. */
                            image_url: string;
                            /** @constant */
                            type: "input_image";
                        })[];
                        /** @enum {string} */
                        role: "system" | "developer" | "user" | "assistant";
                        /** @constant */
                        type: "message";
                    } | {
                        /** @description JSON text. */
                        arguments: string;
                        call_id: string;
                        name: string;
                        namespace?: string | null;
                        /** @constant */
                        type: "function_call";
                    } | {
                        call_id: string;
                        input: string;
                        name: string;
                        /** @constant */
                        type: "custom_tool_call";
                    } | {
                        call_id: string;
                        output: string | ({
                            text: string;
                            /** @constant */
                            type: "input_text";
                        } | {
                            text: string;
                            /** @constant */
                            type: "output_text";
                        } | {
                            refusal: string;
                            /** @constant */
                            type: "refusal";
                        } | {
                            /** @description A data URL: `data:image/png;base64,...`. */
                            image_url: string;
                            /** @constant */
                            type: "input_image";
                        })[];
                        /** @constant */
                        type: "function_call_output";
                    } | {
                        /** @constant */
                        type: "reasoning";
                    } | {
                        id: string;
                        /** @constant */
                        type: "item_reference";
                    }) | {
                        content: string | ({
                            text: string;
                            /** @constant */
                            type: "input_text";
                        } | {
                            text: string;
                            /** @constant */
                            type: "output_text";
                        } | {
                            refusal: string;
                            /** @constant */
                            type: "refusal";
                        } | {
                            /** @description A data URL: `data:image/png;base64,...`. */
                            image_url: string;
                            /** @constant */
                            type: "input_image";
                        })[];
                        /** @enum {string} */
                        role: "system" | "developer" | "user" | "assistant";
                    })[]) | null;
                    /** @description System prompt. */
                    instructions?: string | null;
                    /**
                     * Format: uint32
                     * @description Most tokens per reply of the agent's model.
                     */
                    max_output_tokens?: number | null;
                    /**
                     * @description `session`: the session to send the last message to, unless the header `x-session-key` names
                     *     one.
                     */
                    metadata?: {
                        /** @description Session key. */
                        session?: string | null;
                    } | null;
                    /** @description The agent: `agent/NAME` or `NAME`. */
                    model: string;
                    parallel_tool_calls?: boolean | null;
                    /** @description Id of the response this follows. Responses are stored for a day, unless `store` is false. */
                    previous_response_id?: string | null;
                    reasoning?: {
                        effort?: ("none" | "minimal" | "low" | "medium" | "high" | "xhigh") | null;
                    } | null;
                    /** @description Whether later requests may refer to the response; true by default. */
                    store?: boolean | null;
                    /** @description Whether to stream the response. */
                    stream?: boolean | null;
                    /** Format: double */
                    temperature?: number | null;
                    text?: {
                        format?: ({
                            /** @constant */
                            type: "text";
                        } | {
                            /** @constant */
                            type: "json_object";
                        } | {
                            schema: {
                                [key: string]: unknown;
                            };
                            /** @constant */
                            type: "json_schema";
                        }) | null;
                    } | null;
                    tool_choice?: (("auto" | "none" | "required") | {
                        name: string;
                    }) | null;
                    /** @description Tools the client runs, besides the agent's own. */
                    tools?: ({
                        description?: string | null;
                        name: string;
                        /** @description JSON Schema of its arguments. */
                        parameters?: {
                            [key: string]: unknown;
                        } | null;
                        /** @constant */
                        type: "function";
                    } | {
                        name: string;
                        tools: {
                            description?: string | null;
                            name: string;
                            /** @description JSON Schema of its arguments. */
                            parameters?: {
                                [key: string]: unknown;
                            } | null;
                            /** @constant */
                            type: "function";
                        }[];
                        /** @constant */
                        type: "namespace";
                    } | {
                        description?: string | null;
                        name: string;
                        /** @constant */
                        type: "custom";
                    } | {
                        /** @constant */
                        type: "hosted";
                    })[] | null;
                    /** Format: double */
                    top_p?: number | null;
                };
            };
        };
        responses: {
            /** @description success, in OpenAI's format */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/event-stream": unknown;
                };
            };
            /** @description error with a stable code, in OpenAI's format */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
        };
    };
}
