// Made from docs/openapi.json by `npm run types`; not to be changed by hand.
export interface paths {
    "/.well-known/oauth-protected-resource": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whose access tokens are taken at /mcp */
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
        /** Whose access tokens are taken at /mcp */
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
        /** Whose access tokens are taken at the path of one MCP server */
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
         * All agents
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
         * One agent, with its rules and the tools it has
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
         * What waits for the owner
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
         * Approve or deny one call
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
        /** Artifacts, newest first */
        get: operations["get_api_artifacts"];
        put?: never;
        /** Keep the body as an artifact */
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
        /** The bytes of an artifact */
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
        /** What is known of an artifact */
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
        /** Make a link by which an artifact is downloaded without a token, for a while */
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
         * The audit, newest first
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
         * Check the whole chain of the audit
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
         * All accounts on chat platforms, and how they stand
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
         * Let a program of yours carry another service, as a bridge
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
         * Give an account its credentials
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
         * Forget an account and its credentials
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
         * Start an account, or begin anew with it
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
        /** Say something to an agent: one answer, or events where they are accepted */
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
        /** Stop what runs in a session */
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
         * The configuration, secrets masked
         * @description Needs the owner's token.
         */
        get: operations["get_api_config"];
        /**
         * Set one value
         * @description Needs the owner's token.
         */
        put: operations["put_api_config"];
        post?: never;
        /**
         * Take one value out, so that its default holds
         * @description Needs the owner's token.
         */
        delete: operations["delete_api_config"];
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
         * Take over at once what was written into config.toml
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
         * What can be set, and what it means
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
         * All accounts of services
         * @description Needs the owner's token.
         */
        get: operations["get_api_connections"];
        put?: never;
        /**
         * Open an account of a service
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
         * One account
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
         * Close an account and forget its credentials
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
         * Try an account
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
         * Every contact
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
         * One contact
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
    "/api/doctor": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What is in order, and what to do where it is not
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
        /** Use a code up: the bearer gets the node's own token */
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
         * Messages that were heard and could not be worked on
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
         * Work on such a message again
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
        /** Look through conversations and memory files by words */
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
         * Every provider with its models
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
    "/api/models/makers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Who can be added as a provider by name
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
         * Add a provider by its maker's name, or give it another key
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
         * Take a provider out of the settings
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
         * Ask a model for a word
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
        /** Every node on record */
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
         * Make a code by which a machine becomes a node, once
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
         * Forget a node and take its own token back
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
         * Give a node another name
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
         * Take a node's own token back and disconnect it
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
        /** This document, with the tools this token may call */
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
         * Messages that wait, did not arrive, or may not have
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
         * Let go of a message that did not arrive
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
         * Try a message again that did not arrive
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
         * People who ask to be known, and those who are
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
         * Forget somebody
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
         * Let somebody speak, by id or code
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
         * Let somebody not speak
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
         * The rules in force
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
         * What the rules would say to a call
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
         * Every resource
         * @description Needs the owner's token.
         */
        get: operations["get_api_resources"];
        put?: never;
        /**
         * Make a resource
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
         * One resource, with who may use it
         * @description Needs the owner's token.
         */
        get: operations["get_api_resources_id"];
        put?: never;
        post?: never;
        /**
         * Remove a resource with all it holds
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
         * Let an agent use a resource
         * @description Needs the owner's token.
         */
        put: operations["put_api_resources_id_grants_agent"];
        post?: never;
        /**
         * Let an agent no longer use a resource
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
         * Put a secret into a vault
         * @description Needs the owner's token.
         */
        put: operations["put_api_resources_id_secrets_name"];
        post?: never;
        /**
         * Forget a secret of a vault
         * @description Needs the owner's token.
         */
        delete: operations["delete_api_resources_id_secrets_name"];
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
         * The names of all secrets
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
         * Forget a secret
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
         * All MCP servers
         * @description Needs the owner's token.
         */
        get: operations["get_api_servers"];
        put?: never;
        /**
         * Add an MCP server by its address
         * @description Needs the owner's token.
         */
        post: operations["post_api_servers"];
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
         * One MCP server with its tools and what of them is held back
         * @description Needs the owner's token.
         */
        get: operations["get_api_servers_name"];
        put?: never;
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
         * Take on what an MCP server's tools now say of themselves
         * @description Needs the owner's token.
         */
        post: operations["post_api_servers_name_accept"];
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
         * How the last login at an MCP server stands
         * @description Needs the owner's token.
         */
        get: operations["get_api_servers_name_login"];
        put?: never;
        /**
         * Begin a login at an MCP server: the address to open in a browser
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
         * Ask an MCP server for its tools now
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
        /** Who this token, or this browser, is */
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
         * A link that logs a browser in, once
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
        /** Sessions, the latest active first */
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
        /** One session */
        get: operations["get_api_sessions_key"];
        put?: never;
        post?: never;
        /** Delete a session with all that was said in it, archives too; what runs in it is stopped */
        delete: operations["delete_api_sessions_key"];
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
        /** Leave out all but the last messages; the others are archived */
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
        /** The last messages of a session, oldest first */
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
        /** Set what is set for a session */
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
        /** The bytes of a picture in a session, by the `ref` that its messages say */
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
        /** Begin a session anew; what was said is archived */
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
        /** Take back what was said from a user's message on, to say it anew; it is archived */
        post: operations["post_api_sessions_key_rewind"];
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
        /** Every skill of an agent, and whether it can be used now */
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
        /** One skill with its text */
        get: operations["get_api_skills_name"];
        put?: never;
        /**
         * Switch a skill on or off
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
         * What is to be done, what was done, what comes again
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
         * All tokens
         * @description Needs the owner's token.
         */
        get: operations["get_api_tokens"];
        put?: never;
        /**
         * Make a token
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
         * Take a token back
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
        /** The tools this token may call */
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
         * What was written or changed after untrusted text was read
         * @description Needs the owner's token.
         */
        get: operations["get_api_trust"];
        put?: never;
        /**
         * Trust one of them as it is
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
         * What models used up
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
         * How many calls ended and how long they took, by day and tool
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
        /** The bytes of an artifact, by a link that is good */
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
        /** Whether the process is there */
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
        /** Where a platform calls; signed by it */
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
        /** The same for an account that is not called default */
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
        /** Prometheus metrics; without a token only where `metrics.open` is set */
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
        /** Where a browser brings the end of a login; a page */
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
        /** The gateway as a client of authorization servers */
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
        /** Whether the process can do its work */
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
        /** Ask an agent in OpenAI's format, also for a stream */
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
        /** Ask an agent in Anthropic's format, also for a stream */
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
        /** The agents, as OpenAI's models */
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
        /** One agent, as OpenAI's model */
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
        /** Ask an agent in OpenAI's Responses format, also for a stream */
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
        /** @description Agents. */
        AgentList: {
            /** @description The agents, `main` first. */
            agents: components["schemas"]["AgentView"][];
            /**
             * Format: uint
             * @description How many.
             */
            count: number;
        };
        /** @description One agent. */
        AgentShown: {
            /** @description The agent. */
            agent: components["schemas"]["AgentTools"];
        };
        /** @description One agent with its tools. */
        AgentTools: {
            /** @description The tools that its model is shown. */
            directTools: string[];
            /** @description The tools it has to look for first, by pattern. */
            discover: components["schemas"]["Pattern"][];
            /** @description The tools that it can find. */
            discoveredTools: string[];
            /** @description In which of its sessions people write to it directly. */
            dmScope: components["schemas"]["DmScope"];
            /** @description Its name. */
            id: string;
            /** @description The agent that made it, where one did. */
            madeBy?: string | null;
            /** @description Its model, as `provider/model`. */
            model: string | null;
            /** @description Rules of its own. */
            policy: components["schemas"]["Rule"][];
            /** @description When its sessions begin anew by themselves. */
            reset: components["schemas"]["Reset"];
            /** @description What its model is told besides the files of its workspace. */
            systemPrompt: string | null;
            /** @description How hard it thinks. */
            thinking: components["schemas"]["ThinkingLevel"] | null;
            /** @description The tools its model is shown, by pattern. */
            tools: components["schemas"]["Pattern"][];
            /** @description Whose workspace it works in. */
            workspace: string;
        };
        /** @description What is set for an agent. */
        AgentView: {
            /** @description The tools it has to look for first, by pattern. */
            discover: components["schemas"]["Pattern"][];
            /** @description In which of its sessions people write to it directly. */
            dmScope: components["schemas"]["DmScope"];
            /** @description Its name. */
            id: string;
            /** @description Its model, as `provider/model`. */
            model: string | null;
            /** @description Rules of its own. */
            policy: components["schemas"]["Rule"][];
            /** @description When its sessions begin anew by themselves. */
            reset: components["schemas"]["Reset"];
            /** @description What its model is told besides the files of its workspace. */
            systemPrompt: string | null;
            /** @description How hard it thinks. */
            thinking: components["schemas"]["ThinkingLevel"] | null;
            /** @description The tools its model is shown, by pattern. */
            tools: components["schemas"]["Pattern"][];
            /** @description Whose workspace it works in. */
            workspace: string;
        };
        /** @description A question as it is shown: exactly what will run. */
        Approval: {
            /** @description On whose behalf. */
            agent: string;
            /** @description With what it is called. */
            arguments: unknown;
            /** @description Who asks, by name. */
            caller: string;
            /** @description When it was asked. */
            createdAt: string;
            /** @description When. */
            decidedAt: string | null;
            /** @description Who answered. */
            decidedBy: string | null;
            /** @description What it does to the world. */
            effects: components["schemas"]["Effects"];
            /** @description Until when it can be answered. */
            expiresAt: string;
            /**
             * Format: uuid
             * @description Its id, by which it is answered.
             */
            id: string;
            /** @description What the owner said with the answer. */
            message: string | null;
            /** @description The rule that `always` would add, as it would stand in `policy.rules`. */
            proposedRule: unknown;
            /** @description Which rule asked. */
            rule: string;
            /** @description How far the approval reaches. */
            scope: components["schemas"]["ApprovalScope"];
            /** @description The conversation it is asked in, if in one. */
            sessionKey: string | null;
            /** @description `pending`, `approved`, `denied`, `used`, `expired`, or `withdrawn` when whoever asked goes on without it. */
            state: string;
            /** @description The untrusted text that was read before the call was requested. */
            taintedBy: string | null;
            /** @description The tool. */
            tool: string;
        };
        /** @description A question that was answered. */
        ApprovalDecided: {
            /** @description The question. */
            approval: components["schemas"]["Approval"];
        };
        /** @description Questions to the owner. */
        ApprovalList: {
            /** @description The questions, newest first. */
            approvals: components["schemas"]["Approval"][];
        };
        /** @description How far an approval reaches. */
        ApprovalScope: "once" | "conversation" | "always";
        /** @description A link to an artifact. */
        ArtifactLink: {
            /** @description Until when that works. */
            expires: string;
            /** @description Where it is downloaded without a token. */
            url: string;
        };
        /** @description Artifacts. */
        ArtifactList: {
            /** @description The artifacts, newest first. */
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
        /** @description An artifact that was removed. */
        ArtifactRemoved: {
            /**
             * Format: uuid
             * @description Which one it was.
             */
            id: string;
            /** @description Always true. */
            removed: boolean;
        };
        /** @description An entry in its place in the chain. */
        AuditEntry: {
            /** @description On whose behalf. */
            agent: string;
            /** @description Hex SHA-256 of the canonical arguments. */
            argumentsDigest: string;
            /** @description When. */
            at: components["schemas"]["Timestamp"];
            /**
             * Format: uuid
             * @description Which call.
             */
            call: string | null;
            /** @description Who asked: the caller's key. */
            caller: string;
            /** @description The stable code of an error. */
            code: string;
            /**
             * Format: uint64
             * @description How long it took, in microseconds.
             */
            durationUs: number | null;
            /** @description What the tool does to the world. */
            effects: components["schemas"]["Effects"];
            /** @description The hash that ties it to all before it, in hex. */
            hash: string;
            /** @description What happened. */
            kind: components["schemas"]["AuditKind"];
            /**
             * Format: int64
             * @description Its place, from 1 without gaps.
             */
            seq: number;
            /** @description How it ended. */
            status: components["schemas"]["AuditStatus"];
            /** @description A short text, already redacted; cut at 2 KiB. */
            summary: string;
            /** @description Which tool. */
            tool: string;
        };
        /** @description What happened. */
        AuditKind: "started" | "finished" | "refused" | "event";
        /** @description Entries of the audit. */
        AuditList: {
            /** @description The entries, newest first. */
            entries: components["schemas"]["AuditEntry"][];
        };
        /** @description One thing that is wrong. */
        AuditProblem: {
            /**
             * Format: int64
             * @description At which entry.
             */
            seq: number;
            /** @description What. */
            what: string;
        };
        /** @description How it ended. */
        AuditStatus: "" | "ok" | "error";
        /** @description What verifying found. */
        AuditVerdict: {
            /**
             * Format: uint64
             * @description How many entries were looked at.
             */
            checked: number;
            /**
             * Format: uint64
             * @description How many more there were.
             */
            more_problems: number;
            /** @description Nothing is wrong. */
            ok: boolean;
            /** @description What is wrong, at most a hundred things. */
            problems: components["schemas"]["AuditProblem"][];
            /**
             * Format: uint64
             * @description How many entries at the beginning were removed by retention, as its sealed checkpoint proves.
             */
            removed: number;
        };
        /** @description An account that a bridge carries. */
        BridgeMade: {
            /** @description The account of ours. */
            accountId: string;
            /** @description The service. */
            channel: string;
            /** @description The bridge's token, shown once; none when it has one. */
            token?: string | null;
        };
        /** @description What is counted at most. */
        CallBound: {
            /**
             * Format: uint32
             * @description How many calls, the latest.
             */
            calls: number;
            /**
             * Format: uint32
             * @description How many tools of a day, those called most.
             */
            tools: number;
        };
        /** @description How the calls of a day went. */
        CallDay: {
            /**
             * Format: uint64
             * @description How many ended.
             */
            calls: number;
            /** @description The day. */
            day: string;
            /**
             * Format: uint64
             * @description How many of them with an error.
             */
            errors: number;
            /**
             * Format: double
             * @description Half of them took no longer, in milliseconds.
             */
            p50Ms: number | null;
            /**
             * Format: double
             * @description Nineteen of twenty took no longer, in milliseconds.
             */
            p95Ms: number | null;
        };
        /** @description How the calls of a tool went on a day. */
        CallTool: {
            /**
             * Format: uint64
             * @description How many ended.
             */
            calls: number;
            /** @description The day. */
            day: string;
            /**
             * Format: uint64
             * @description How many of them with an error.
             */
            errors: number;
            /**
             * Format: double
             * @description Half of them took no longer, in milliseconds.
             */
            p50Ms: number | null;
            /**
             * Format: double
             * @description Nineteen of twenty took no longer, in milliseconds.
             */
            p95Ms: number | null;
            /** @description The tool. */
            tool: string;
        };
        /** @description How calls went. */
        CallUsage: {
            /** @description What was counted at most. */
            bound: components["schemas"]["CallBound"];
            /** @description Whether that was enough for everything there was. */
            complete: boolean;
            /** @description Each day on which a call ended, all tools together; the earliest first. */
            days: components["schemas"]["CallDay"][];
            /** @description The first day, by the clocks of the settings. */
            since: string;
            /** @description Each tool of each of these days; the earliest day and the tool called most first. */
            tools: components["schemas"]["CallTool"][];
        };
        /** @description Accounts on platforms. */
        ChannelList: {
            /** @description The accounts. */
            channels: components["schemas"]["ChannelView"][];
            /**
             * Format: uint
             * @description How many.
             */
            count: number;
            /** @description What was heard and is not done. */
            inbox: components["schemas"]["InboxCount"];
            /** @description What is to be said and did not arrive. */
            outbox: components["schemas"]["OutboxCount"];
        };
        /** @description An account that was given its credentials. */
        ChannelLogin: {
            /** @description The account of ours. */
            accountId: string;
            /** @description The platform. */
            channel: string;
            /** @description Its handle there. */
            handle: string | null;
            /** @description Its id there. */
            id: string;
            /** @description What it is called there. */
            name: string;
        };
        /** @description An account that was forgotten. */
        ChannelLogout: {
            /** @description The account of ours. */
            accountId: string;
            /** @description The platform. */
            channel: string;
            /** @description Always true. */
            loggedOut: boolean;
        };
        /** @description An account that was started. */
        ChannelStarted: {
            /** @description The account of ours. */
            accountId: string;
            /** @description The platform. */
            channel: string;
            /** @description Always true. */
            started: boolean;
        };
        /** @description An account that was stopped. */
        ChannelStopped: {
            /** @description The account of ours. */
            accountId: string;
            /** @description The platform. */
            channel: string;
            /** @description Always true. */
            stopped: boolean;
        };
        /** @description An account on a platform, as its owner sees it. */
        ChannelView: {
            /** @description The account of ours. */
            accountId: string;
            /** @description The platform. */
            channel: string;
            /** @description What is wrong, if something is. */
            detail: string | null;
            /** @description Its handle there. */
            handle: string | null;
            /** @description Its id there. */
            id: string | null;
            /** @description When something was last said or heard. */
            lastMessageAt: components["schemas"]["Timestamp"] | null;
            /** @description What it is called there. */
            name: string | null;
            /** @description Since when it stands so. */
            since: components["schemas"]["Timestamp"] | null;
            /** @description `off`, `stopped`, `connecting`, `connected` or `error`. */
            state: string;
        };
        /** @description What came of a message. */
        ChatAnswer: components["schemas"]["ChatAnswered"] | components["schemas"]["ChatCommand"] | components["schemas"]["ChatPaused"];
        /** @description The agent answered. */
        ChatAnswered: {
            /** @description The id of the run. */
            runId: string;
            /** @description The session. */
            sessionKey: components["schemas"]["SessionKey"];
            /** @description It is done. */
            status: "done";
            /** @description Why the model said no more. */
            stopReason: components["schemas"]["StopReason"];
            /** @description What it said. */
            text: string;
            /** @description What the turn used up. */
            usage: components["schemas"]["TurnUsage"];
        };
        /** @description A command, and what came of it. */
        ChatCommand: {
            /** @description Which one, without its slash. */
            command: string;
            /** @description Why it was not done. */
            error: string | null;
            /** @description The session. */
            sessionKey: components["schemas"]["SessionKey"];
            /** @description It is done. */
            status: "done";
            /** @description What came of it, in words. */
            text: string;
        };
        /** @description A run that waits for the owner. */
        ChatPaused: {
            /**
             * Format: uuid
             * @description The question.
             */
            approvalId: string;
            /** @description With what it is called. */
            arguments: unknown;
            /** @description The id of the run. */
            runId: string;
            /** @description The session. */
            sessionKey: components["schemas"]["SessionKey"];
            /** @description It waits. */
            status: "paused";
            /** @description The tool. */
            tool: string;
        };
        /** @description What was stopped. */
        ChatStopped: {
            /** @description The session. */
            sessionKey: components["schemas"]["SessionKey"];
            /** @description Whether something ran. */
            stopped: boolean;
        };
        /** @description What a collection holds. */
        CollectionKind: "datastore" | "filestore" | "knowledge" | "vault";
        /** @description What is known of a collection. */
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
        /** @description What was taken over from config.toml. */
        ConfigReloaded: {
            /** @description The keys whose values changed. */
            changed: string[];
            /** @description Those of them that hold only after the next start. */
            needsRestart: string[];
        };
        /** @description Everything that can be set. */
        ConfigSchema: {
            /**
             * @description The JSON Schema of the settings. `description` says what a key means, `default` what holds when it
             *     is not set; `x-secret` marks what is masked when read, `x-restart` what a restart brings into force,
             *     and `x-local` what is set in the file alone.
             */
            schema: unknown;
        };
        /** @description A value that was set. */
        ConfigSet: {
            /** @description The keys that hold only after the next start. */
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
            /** @description The settings, as they would stand in config.toml. */
            config: unknown;
        };
        /** @description How an account is opened. */
        ConnectionKind: "keys" | "oauth";
        /** @description Accounts of services. */
        ConnectionList: {
            /** @description The accounts. */
            connections: components["schemas"]["ConnectionRecord"][];
            /**
             * Format: uint
             * @description How many.
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
        /** @description An account that was closed. */
        ConnectionRemoved: {
            /**
             * Format: uuid
             * @description Which one it was.
             */
            pcid: string;
            /** @description Always true. */
            removed: boolean;
        };
        /** @description Whether an account works, as far as is known. */
        ConnectionStatus: "connected" | "error" | "disconnected";
        /** @description A contact as it is told. */
        Contact: {
            /** @description Whether it is among the active ones. */
            active: boolean;
            /** @description Where they are written to by preference, such as `telegram`. */
            channel?: string;
            /**
             * @description The contact's name for ever, such as `tg:90001`.
             * @default
             */
            contact_id: string;
            /** @description Until when nothing is sent to them, as after a failure. */
            cooldown_until?: string;
            /** @description Channels on Discord in which they were seen. */
            discord_channel_ids?: string[];
            /** @description The private channel with them on Discord. */
            discord_dm_channel_id?: string;
            /** @description Who they are on Discord. */
            discord_user_id?: string;
            /** @description Their name on Discord. */
            discord_username?: string;
            /** @description `human` or `agent`. */
            kind?: string;
            /** @description Chats on Lark. */
            lark_chat_ids?: string[];
            /** @description Who they are on Lark. */
            lark_open_id?: string;
            /** @description When they last spoke. */
            last_interaction_at?: string;
            /** @description Chats on LINE in which they were seen. */
            line_chat_ids?: string[];
            /** @description Who they are on LINE. */
            line_user_id?: string;
            /** @description What they are called. */
            nickname?: string;
            /** @description What they are like. */
            persona_brief?: string;
            /** @description Under which addresses it is reached. */
            reachable_ids: string[];
            /** @description Channels on Slack in which they were seen. */
            slack_channel_ids?: string[];
            /** @description The private channel with them on Slack. */
            slack_dm_channel_id?: string;
            /** @description Their workspace on Slack. */
            slack_team_id?: string;
            /** @description Who they are on Slack. */
            slack_user_id?: string;
            /** @description Groups on Telegram in which they were seen. */
            tg_group_chat_ids?: string[];
            /** @description The private chat with them on Telegram. */
            tg_private_chat_id?: string;
            /** @description Their name on Telegram, without `@`. */
            tg_username?: string;
            /** @description What they like to speak of. */
            topic_preferences?: string[];
            /** @description Who they are on WhatsApp. */
            wa_id?: string;
        };
        /** @description Contacts. */
        ContactList: {
            /** @description The contacts, the active ones first. */
            contacts: components["schemas"]["Contact"][];
            /**
             * Format: uint
             * @description How many.
             */
            count: number;
        };
        /** @description One contact. */
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
        /** @description What happens to a call. */
        Decision: "allow" | "ask" | "deny";
        /** @description In which session people write to an agent directly. */
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
        /** @description One thing that was looked at. */
        Finding: {
            /** @description What was found. */
            about: string;
            /** @description What to do about it. */
            remedy?: string | null;
            /** @description How it stands. */
            state: components["schemas"]["FindingState"];
            /** @description What was looked at, in a word or two. */
            what: string;
        };
        /** @description How something stands. */
        FindingState: "ok" | "look" | "wrong";
        /** @description What was found. */
        Findings: {
            /** @description One for each thing that was looked at; some things have several. */
            findings: components["schemas"]["Finding"][];
        };
        /** @description What one agent may do. */
        Grant: {
            /** @description The agent. */
            agent: string;
            /** @description What it may do. */
            level: components["schemas"]["Level"];
        };
        /** @description What is held back of a tool. */
        HeldTool: {
            /** @description How it differs from what was taken on. */
            difference: string;
            /** @description What is taken on where it is accepted. */
            fingerprint: string;
            /** @description Nothing of it was taken on before. */
            new: boolean;
            /** @description Its name there. */
            tool: string;
        };
        /** @description A message that was heard. */
        Inbound: {
            /** @description The account of ours. */
            accountId: string;
            /**
             * Format: int64
             * @description How often it was tried.
             */
            attempts: number;
            /** @description The platform. */
            channel: string;
            /** @description The chat. */
            chat: string | null;
            /** @description Why it went no further. */
            error: string | null;
            /** @description Who wrote, as the platform names them. */
            from: string | null;
            /** @description Our id of it. */
            id: string;
            /** @description What they are called. */
            name: string | null;
            /** @description When it was heard. */
            receivedAt: components["schemas"]["Timestamp"];
            /** @description The beginning of what they said. */
            text: string | null;
        };
        /** @description What was heard and could not be worked on. */
        Inbox: {
            /**
             * Format: uint
             * @description How many.
             */
            count: number;
            /** @description The messages. */
            messages: components["schemas"]["Inbound"][];
        };
        /** @description What was heard and is not done. */
        InboxCount: {
            /**
             * Format: uint64
             * @description How many could not be worked on.
             */
            failed: number;
            /**
             * Format: uint64
             * @description How many nobody looked at yet.
             */
            waiting: number;
        };
        /** @description A message that is worked on again. */
        InboxRetried: {
            /** @description Its id. */
            id: string;
            /** @description Always true. */
            retried: boolean;
        };
        /** @description What the rules say to a call. */
        Judged: {
            /** @description What happens to the call. */
            decision: components["schemas"]["Decision"];
            /** @description What that rule says why. */
            reason: string | null;
            /** @description Which rule decides. */
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
        /** @description What became of a key. */
        KeyState: "stored" | "kept" | "none";
        /** @description What kind of object it is. */
        Kind: "file" | "agent" | "job" | "session";
        /** @description A tool that is not offered. */
        LeftOutTool: {
            /** @description Why it is not offered. */
            reason: string;
            /** @description Its name, as its node or server calls it. */
            tool: string;
        };
        /** @description What an agent may do with a collection; each level includes the one before. */
        Level: "read" | "write" | "admin";
        /** @description A browser session that was opened. */
        LoggedIn: {
            /** @description When the session ends. */
            expiresAt: string | null;
            /** @description The session's token, returned this once. */
            token: string;
        };
        /** @description Whether a browser was logged out. */
        LoggedOut: {
            /** @description Whether a session was revoked; false for tokens that are not a browser session. */
            loggedOut: boolean;
        };
        /** @description A login that was begun. */
        LoginBegun: {
            /** @description Which login it is. */
            login: string;
            /** @description Until when it may be ended. */
            until: components["schemas"]["Timestamp"];
            /** @description The address to open in a browser. */
            url: string;
        };
        /** @description A login that was ended. */
        LoginEnded: {
            /** @description What its authorization server said to that, where it went wrong. */
            note: string | null;
            /**
             * Format: uuid
             * @description The account.
             */
            pcid: string;
            /** @description Always true. */
            removed: boolean;
        };
        /** @description A link that logs a browser in, once. */
        LoginLink: {
            /** @description Its path and fragment at this gateway. */
            path: string;
        };
        /** @description How the last login at a server stands. */
        LoginStatus: {
            /** @description The accounts that were opened by a login. */
            connections: components["schemas"]["ConnectionRecord"][];
            /** @description What went wrong, if something did. */
            detail?: string | null;
            /** @description Which login it is. */
            login?: string;
            /**
             * Format: uuid
             * @description The account that it opened.
             */
            pcid?: string | null;
            /** @description `none` where there was none, `waiting`, `done` or `failed`. */
            state: string;
            /** @description Until when it may be ended. */
            until?: components["schemas"]["Timestamp"];
        };
        /** @description Who can be added. */
        MakerList: {
            /** @description The makers, in the order in which they are offered. */
            makers: components["schemas"]["MakerView"][];
        };
        /** @description How a maker stands in the settings. */
        MakerStanding: "absent" | "set" | "keyless" | "different";
        /** @description Somebody whose models can be added by name. */
        MakerView: {
            /** @description Where its models are asked, and its key is sent. */
            address: string;
            /** @description The same, where it has to be said in config.toml. */
            baseUrl: string | null;
            /** @description How the provider differs that has its name, where there is one. */
            difference?: string | null;
            /** @description Whether the vault has a key under its name. */
            hasKey: boolean;
            /** @description Its name: of the provider in the settings, and of its key in the vault. */
            id: string;
            /** @description How it speaks. */
            kind: components["schemas"]["ProviderKind"];
            /** @description The model to begin with, where there is a usual one. */
            model: string | null;
            /** @description Whether it wants a key. */
            needsKey: boolean;
            /** @description How it stands in the settings. */
            standing: components["schemas"]["MakerStanding"];
            /** @description Its name for people. */
            title: string;
        };
        /** @description What was found. */
        MemoryFound: {
            /** @description Whether everything was looked through. */
            complete: boolean;
            /**
             * Format: uint
             * @description How many.
             */
            count: number;
            /** @description What was found, best first. */
            results: components["schemas"]["Remembered"][];
        };
        /**
         * @description A model by the name of its provider and its own: `openrouter/anthropic/claude-opus-5.5` is
         *     `anthropic/claude-opus-5.5` at `openrouter`.
         */
        ModelId: string;
        /** @description The models that there are. */
        ModelList: {
            /** @description The model that is used unless said. */
            default: string | null;
            /** @description Models to turn to, in order. */
            fallbacks: string[];
            /** @description What is wrong with the settings of models. */
            problems: string[];
            /** @description Every provider. */
            providers: components["schemas"]["ProviderView"][];
        };
        /** @description What a model costs, in dollars for a million tokens. */
        ModelPrice: {
            /**
             * Format: double
             * @description Tokens read from the provider's cache; as `input` where it is null.
             */
            cacheRead: number | null;
            /**
             * Format: double
             * @description Tokens written to the provider's cache; as `input` where it is null.
             */
            cacheWrite: number | null;
            /**
             * Format: double
             * @description Tokens that are read.
             */
            input: number;
            /**
             * Format: double
             * @description Tokens that are written.
             */
            output: number;
        };
        /** @description A model that answered. */
        ModelTested: {
            /**
             * Format: uint64
             * @description What that cost, in millionths of a dollar, where its price is known.
             */
            costMicros: number | null;
            /**
             * Format: uint64
             * @description How long the whole answer took, in milliseconds.
             */
            latencyMs: number;
            /** @description The model. */
            model: components["schemas"]["ModelId"];
            /** @description It was a script; no model was asked. */
            scripted: boolean;
            /** @description What it said. */
            text: string;
            /** @description What it used up. */
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
        /** @description A model, with what is known of it. */
        ModelView: {
            /**
             * Format: uint64
             * @description How many tokens it takes.
             */
            contextTokens: number | null;
            /** @description As `provider/model`. */
            id: components["schemas"]["ModelId"];
            /** @description As its provider names it. */
            model: string;
            /** @description What it costs, where that is known. */
            price: components["schemas"]["ModelPrice"] | null;
            /** @description What it is called. */
            title: string | null;
        };
        /** @description A code by which a machine becomes a node, once. */
        NodeCode: {
            /** @description The code. */
            code: string;
            /** @description Until when it is good. */
            expiresAt: string;
            /** @description The name the machine will have. */
            nodeId: string;
        };
        /** @description A machine that became a node. */
        NodeEnrolled: {
            /** @description Its name. */
            nodeId: string;
            /** @description The text of its own token, which is told this once. */
            token: string;
        };
        /** @description A node on record. */
        NodeEntry: {
            /** @description Its system, as it said itself. */
            clientPlatform: string;
            /** @description Its version, as it said itself. */
            clientVersion: string;
            /** @description When it was first seen, as RFC 3339. */
            firstSeenAt: string;
            /** @description The names it had before. */
            formerIds?: string[];
            /** @description What the machine can do. */
            hostCapabilities: string[];
            /** @description When it last connected or went, as RFC 3339. */
            lastSeenAt: string;
            /** @description Tools it sent that are not offered, while it is connected. */
            leftOut?: components["schemas"]["LeftOutTool"][];
            /** @description Its name. */
            nodeId: string;
            /** @description Whether it is connected now. */
            online: boolean;
            /** @description Its tools, without its name before them. */
            tools: string[];
        };
        /** @description The node is forgotten, and its own token taken back. */
        NodeForgetResult: {
            /** @description Whether a connection was closed. */
            disconnected: boolean;
            /** @description The node. */
            nodeId: string;
            /** @description Always true. */
            ok: boolean;
            /** @description Whether it was on record. */
            removed: boolean;
        };
        /** @description Nodes. */
        NodeList: {
            /**
             * Format: uint
             * @description How many.
             */
            count: number;
            /** @description Every node on record. */
            nodes: components["schemas"]["NodeEntry"][];
        };
        /** @description A node that was renamed. */
        NodeRenamed: {
            /** @description The name it has now. */
            nodeId: string;
        };
        /** @description A node whose token was taken back. */
        NodeRevoked: {
            /** @description Whether it was connected. */
            disconnected: boolean;
            /** @description The node. */
            nodeId: string;
        };
        /** @description A message that is to be said, or was. */
        Outbound: {
            /** @description The account of ours. */
            accountId: string;
            /**
             * Format: int64
             * @description How often it was tried.
             */
            attempts: number;
            /** @description The platform. */
            channel: string;
            /** @description When it was written. */
            createdAt: components["schemas"]["Timestamp"];
            /** @description Not before this. */
            due: components["schemas"]["Timestamp"];
            /** @description When it arrived, or was given up. */
            endedAt: components["schemas"]["Timestamp"] | null;
            /** @description What went wrong last. */
            error: string | null;
            /** @description Its id. */
            id: string;
            /** @description The platform's id of it. */
            messageId: string | null;
            /** @description The conversation that it comes from. */
            sessionKey: string | null;
            /** @description Where it stands. */
            state: components["schemas"]["OutboxState"];
            /** @description The beginning of it, or the name of a file. */
            text: string | null;
            /** @description The chat. */
            to: string | null;
        };
        /** @description What is to be said, or was. */
        Outbox: {
            /**
             * Format: uint
             * @description How many are listed.
             */
            count: number;
            /**
             * Format: uint64
             * @description How many did not arrive.
             */
            failed: number;
            /** @description The messages. */
            messages: components["schemas"]["Outbound"][];
            /**
             * Format: uint64
             * @description Of how many that is not known.
             */
            unknown: number;
            /**
             * Format: uint64
             * @description How many wait.
             */
            waiting: number;
        };
        /** @description What did not arrive, or may not have. */
        OutboxCount: {
            /**
             * Format: uint64
             * @description How many did not arrive.
             */
            failed: number;
            /**
             * Format: uint64
             * @description Of how many that is not known.
             */
            unknown: number;
            /**
             * Format: uint64
             * @description How many wait.
             */
            waiting: number;
        };
        /** @description A message that was let go of. */
        OutboxDropped: {
            /** @description Always true. */
            dropped: boolean;
            /** @description Its id. */
            id: string;
        };
        /** @description A message that is tried again. */
        OutboxResent: {
            /** @description Its id. */
            id: string;
            /** @description Always true. */
            resent: boolean;
        };
        /** @description Where something that is to be said stands. */
        OutboxState: "pending" | "sending" | "sent" | "failed" | "unknown" | "dropped";
        /** @description Somebody who writes, as the owner sees them. */
        Pair: {
            /** @description The platform. */
            channel: string;
            /** @description What the owner is told to know them by. */
            code: string | null;
            /** @description When it was decided. */
            decidedAt: components["schemas"]["Timestamp"] | null;
            /** @description Their handle. */
            handle: string | null;
            /** @description The beginning of what they said. */
            message: string | null;
            /** @description What they are called. */
            name: string | null;
            /** @description Whether it is the owner. */
            owner: boolean;
            /** @description When they first asked. */
            requestedAt: components["schemas"]["Timestamp"];
            /** @description Who, as the platform names them. */
            senderId: string;
            /** @description Whether they may speak. */
            state: components["schemas"]["SenderState"];
        };
        /** @description Somebody who may speak. */
        PairApproved: {
            /** @description Always true. */
            approved: boolean;
            /** @description The platform. */
            channel: string;
            /** @description What they are called. */
            name: string | null;
            /** @description Whether it is the owner. */
            owner: boolean;
            /** @description Who, as the platform names them. */
            senderId: string;
        };
        /** @description Somebody who was forgotten. */
        PairForgotten: {
            /** @description The platform. */
            channel: string;
            /** @description Always true. */
            forgotten: boolean;
            /** @description Who, as the platform names them. */
            senderId: string;
        };
        /** @description People who write. */
        PairList: {
            /**
             * Format: uint
             * @description How many.
             */
            count: number;
            /** @description Those who ask to be known, and those who were decided about. */
            pairs: components["schemas"]["Pair"][];
        };
        /** @description Somebody who may not speak. */
        PairRejected: {
            /** @description The platform. */
            channel: string;
            /** @description Always true. */
            rejected: boolean;
            /** @description Who, as the platform names them. */
            senderId: string;
        };
        /** @description A name pattern in which `*` stands for any run of characters. */
        Pattern: string;
        /** @description A picture in a message. */
        PictureRef: {
            /** @description What kind of picture. */
            mimeType: string;
            /** @description `SEQ/INDEX`: what to ask for it with. */
            ref: string;
        };
        /** @description A test of one argument; every part that is given has to hold. */
        Predicate: {
            /** @description The argument's text contains this. */
            contains?: string | null;
            /** @description The argument is exactly this value. */
            equals?: unknown;
            /**
             * @description The argument is a URL of one of these hosts; `*.example.com` for subdomains. A URL that
             *     cannot be understood matches where the rule denies or asks, and not where it allows.
             */
            host?: components["schemas"]["Pattern"][];
            /** @description The argument's text matches this regular expression somewhere. */
            matches?: string | null;
            /**
             * @description The argument is a command whose programs, by their resolved names, are among these:
             *     `/usr/bin/git` and `env git` are `git`. Where the rule allows, all of them have to be, and a
             *     command that cannot be understood does not match; where it denies or asks, one is enough.
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
        /** @description A provider that was added. */
        ProviderAdded: {
            /** @description The model that is used unless said. */
            default: string | null;
            /** @description What became of its key. */
            key: components["schemas"]["KeyState"];
            /** @description The model that was meant; null where none was said and there is no usual one. */
            model: components["schemas"]["ModelId"] | null;
            /** @description The provider with its models. */
            provider: components["schemas"]["ProviderView"];
        };
        /** @description How a provider speaks. */
        ProviderKind: "anthropic" | "openai" | "openai-responses" | "gemini" | "scripted";
        /** @description A provider that was removed. */
        ProviderRemoved: {
            /** @description Whether its key was taken out of the vault too. */
            keyRemoved: boolean;
            /** @description Its name. */
            name: string;
            /** @description Always true. */
            removed: boolean;
        };
        /** @description A provider with its models. */
        ProviderView: {
            /** @description Where it is; empty for a script. */
            baseUrl: string;
            /** @description Models of it that the settings name. */
            configured: components["schemas"]["ModelId"][];
            /** @description Why it does not say what it offers. */
            error?: string | null;
            /** @description How it speaks. */
            kind: components["schemas"]["ProviderKind"];
            /** @description What it offers. */
            offered?: components["schemas"]["ModelView"][] | null;
            /** @description Its name in the settings. */
            provider: string;
            /** @description It replays a file; no model is there. */
            scripted: boolean;
            /** @description The same, with what is known of them. */
            used: components["schemas"]["ModelView"][];
        };
        /** @description Something that was found. */
        Remembered: {
            /** @description Whose it is. */
            agent: string;
            /** @description When, as RFC 3339. */
            at: string;
            /** @description The file's path. */
            path?: string | null;
            /**
             * Format: int64
             * @description The number of the message, or of the line in the file.
             */
            place: number;
            /** @description Who said it: `user`, `assistant` or `tool`. */
            role?: string | null;
            /** @description The session's key. */
            sessionKey?: string | null;
            /** @description The words around what was found. */
            snippet: string;
            /** @description `session` where its model is still shown it, `archive` where not, or `file`. */
            source: string;
        };
        /** @description When a session begins anew by itself. What was said is archived. */
        Reset: {
            /**
             * Format: uint8
             * @description For `daily`: the hour, by `timezone`.
             * @default 4
             */
            at_hour: number;
            /**
             * Format: uint32
             * @description For `idle`: after so many minutes.
             * @default 60
             */
            idle_minutes: number;
            /**
             * @description `manual`: never; `daily`: at an hour of the user's day; `idle`: when nobody spoke for a while.
             * @default daily
             */
            mode: components["schemas"]["ResetMode"];
        };
        /** @description When a session begins anew by itself. */
        ResetMode: "manual" | "daily" | "idle";
        /** @description When a session begins anew by itself: looked at when the next message comes. */
        ResetPolicy: {
            /** @constant */
            mode: "manual";
        } | {
            /**
             * Format: uint8
             * @description At this hour of the user's day.
             */
            atHour: number;
            /** @constant */
            mode: "daily";
        } | {
            /**
             * Format: uint32
             * @description For so many minutes.
             */
            idleMinutes: number;
            /** @constant */
            mode: "idle";
        };
        /** @description What an agent may do with a resource. */
        ResourceGranted: {
            /** @description The agent. */
            agent: string;
            /**
             * Format: uuid
             * @description Which one.
             */
            collectionId: string;
            /** @description How much it may do. */
            level: components["schemas"]["Level"];
        };
        /** @description Resources. */
        ResourceList: {
            /** @description The resources. */
            resources: components["schemas"]["CollectionRecord"][];
        };
        /** @description A resource that was removed. */
        ResourceRemoved: {
            /**
             * Format: uuid
             * @description Which one it was.
             */
            collectionId: string;
            /** @description Always true. */
            removed: boolean;
        };
        /** @description An agent that may no longer use a resource. */
        ResourceRevoked: {
            /** @description The agent. */
            agent: string;
            /**
             * Format: uuid
             * @description Which one.
             */
            collectionId: string;
            /** @description Always true. */
            revoked: boolean;
        };
        /** @description One resource, with who may use it. */
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
            /** @description Who may use it. */
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
            /** @description What is known of the secrets in it, where it is a vault. */
            secrets?: components["schemas"]["VaultEntry"][] | null;
            /** @description When what it holds last changed. */
            updated: components["schemas"]["Timestamp"];
        };
        /** @description What was taken back. */
        Rewound: {
            /** @description Where all of it is kept. */
            archivedTo: string;
            /**
             * Format: uint
             * @description How many messages.
             */
            removedMessages: number;
            /**
             * Format: uint
             * @description How many calls of tools were among them; what they did stays done.
             */
            removedToolCalls: number;
            /** @description The session. */
            sessionKey: string;
            /** @description What the user's message said, to be said anew. */
            text: string;
        };
        /** @description What a token, and so its bearer, is for. */
        Role: "owner" | "client" | "node" | "read-only" | "channel";
        /** @description One rule. Every part that is given has to match for the rule to decide a call. */
        Rule: {
            /**
             * @description Agent name patterns. Empty: any.
             * @default []
             */
            agents: components["schemas"]["Pattern"][];
            /**
             * @description Caller patterns, such as `owner:*`, `client:laptop`, `guest:corp/*` or `person:telegram:42`.
             *     Empty: any.
             * @default []
             */
            callers: components["schemas"]["Pattern"][];
            /** @description What happens to a call that matches. */
            decision: components["schemas"]["Decision"];
            /**
             * @description Matches a tool that has at least one of these effects. Empty: any.
             * @default []
             */
            effects: components["schemas"]["Effect"][];
            /**
             * @description For calls allowed by this rule: programs they start may use the network.
             * @default false
             */
            network: boolean;
            /** @description Why, shown with a refusal or an approval request. */
            reason?: string | null;
            /**
             * @description Tool name patterns, `*` for any run of characters.
             * @default [
             *       "*"
             *     ]
             */
            tools: components["schemas"]["Pattern"][];
            /**
             * @description Tests of arguments, by dotted argument path; a path with dots is quoted.
             * @default {}
             */
            when: {
                [key: string]: components["schemas"]["Predicate"];
            };
        };
        /** @description Rules. */
        RuleList: {
            /** @description The rules, in order. */
            rules: components["schemas"]["Rule"][];
        };
        /** @description The names of secrets. */
        SecretNames: {
            /** @description The names. */
            names: string[];
        };
        /** @description A secret that was forgotten. */
        SecretRemoved: {
            /** @description Its name. */
            name: string;
            /** @description Always true. */
            removed: boolean;
        };
        /** @description A secret that was stored. */
        SecretStored: {
            /** @description Its name. */
            name: string;
            /** @description Always true. */
            stored: boolean;
        };
        /** @description Whether the owner knows somebody. */
        SenderState: "asking" | "approved" | "rejected";
        /** @description What was taken on. */
        ServerAccepted: {
            /** @description The tools, by their names there. */
            accepted: string[];
            /** @description The server. */
            name: string;
        };
        /** @description A server that was added. */
        ServerAdded: {
            /** @description Always true. */
            added: boolean;
            /** @description Its name. */
            name: string;
        };
        /** @description How a server is reached. */
        ServerKind: "openapi" | "stdio" | "http";
        /** @description MCP servers. */
        ServerList: {
            /**
             * Format: uint
             * @description How many.
             */
            count: number;
            /** @description The servers. */
            servers: components["schemas"]["ServerView"][];
        };
        /** @description A server that was removed. */
        ServerRemoved: {
            /** @description Its name. */
            name: string;
            /** @description Always true. */
            removed: boolean;
        };
        /** @description One server, whole. */
        ServerShown: {
            /** @description The program that is it. */
            command?: string | null;
            /**
             * Format: uint
             * @description Of how many tools something is held back.
             */
            held?: number;
            /** @description What of them is held back. */
            heldBack: components["schemas"]["HeldTool"][];
            /** @description Tools that are not offered as they are, because a schema of theirs cannot be used. */
            leftOut: components["schemas"]["LeftOutTool"][];
            /** @description Its name. */
            name: string;
            /** @description What is wrong, if something is. */
            problem?: string | null;
            /** @description As it is named in the catalogue. */
            server?: string;
            /** @description The service whose accounts it is used with. */
            service?: string;
            /** @description How its connections stand, the most telling of several. */
            state: components["schemas"]["ServerState"];
            /** @description Its last words. */
            stderr: string;
            /** @description Its tools. */
            toolList: components["schemas"]["ServerTool"][];
            /**
             * Format: uint
             * @description How many tools it offers.
             */
            tools?: number;
            /** @description How it is reached. */
            type?: components["schemas"]["ServerKind"];
            /** @description Where it is. */
            url?: string | null;
        };
        /** @description How a server stands. */
        ServerState: "off" | "stopped" | "idle" | "starting" | "ready" | "failing";
        /** @description A tool of a server. */
        ServerTool: {
            /** @description What it says of itself. */
            description: string | null;
            /** @description Its name in the catalogue. */
            name: string;
            /** @description Its name there. */
            tool: string;
        };
        /** @description How a server stands. Of one that is switched off, only its name is told. */
        ServerView: {
            /** @description The program that is it. */
            command?: string | null;
            /**
             * Format: uint
             * @description Of how many tools something is held back.
             */
            held?: number;
            /** @description Its name. */
            name: string;
            /** @description What is wrong, if something is. */
            problem?: string | null;
            /** @description As it is named in the catalogue. */
            server?: string;
            /** @description The service whose accounts it is used with. */
            service?: string;
            /** @description How its connections stand, the most telling of several. */
            state: components["schemas"]["ServerState"];
            /**
             * Format: uint
             * @description How many tools it offers.
             */
            tools?: number;
            /** @description How it is reached. */
            type?: components["schemas"]["ServerKind"];
            /** @description Where it is. */
            url?: string | null;
        };
        /** @description A session that was shortened. */
        SessionCompacted: {
            /** @description Where the others are. */
            archivedTo: string;
            /**
             * Format: uint
             * @description How many still are.
             */
            keptMessages: number;
            /** @description The session. */
            sessionKey: components["schemas"]["SessionKey"];
            /**
             * Format: uint
             * @description How many messages are no longer shown.
             */
            trimmedMessages: number;
        };
        /** @description A session that is gone. */
        SessionDeleted: {
            /**
             * Format: uint
             * @description How many archives were removed.
             */
            deletedArchives: number;
            /**
             * Format: uint64
             * @description How many messages were deleted, also of before it was last begun anew.
             */
            deletedMessages: number;
            /** @description The key it had. */
            sessionKey: string;
            /**
             * Format: uint64
             * @description How many open questions to the owner were withdrawn.
             */
            withdrawnApprovals: number;
        };
        /** @description The key of a session, in its one spelling. */
        SessionKey: string;
        /** @description Sessions. */
        SessionList: {
            /**
             * Format: uint
             * @description How many are listed.
             */
            count: number;
            /** @description The sessions, the latest active first. */
            sessions: components["schemas"]["SessionView"][];
            /**
             * Format: uint64
             * @description How many there are, where that is counted.
             */
            total?: number | null;
        };
        /** @description One message of a session, in words. */
        SessionMessage: {
            /** @description The pictures in it. */
            pictures?: components["schemas"]["PictureRef"][];
            /** @description `user`, `assistant` or `tool`. */
            role: string;
            /**
             * Format: int64
             * @description Its number in the session.
             */
            seq: number;
            /** @description What was said. */
            text: string;
            /** @description The tools that were called. */
            tools?: string[];
            /**
             * @description What the turn that ends with this message used up; absent in all other messages, and where it
             *     is not known.
             */
            usage?: components["schemas"]["TurnUsage"] | null;
        };
        /** @description Messages of a session. */
        SessionMessages: {
            /** @description The messages, oldest first. */
            messages: components["schemas"]["SessionMessage"][];
            /** @description The session. */
            sessionKey: components["schemas"]["SessionKey"];
        };
        /** @description A session that was begun anew. */
        SessionReset: {
            /**
             * Format: uint
             * @description How many messages went into the archive.
             */
            archivedMessages: number;
            /** @description Where that is; empty when nothing was said. */
            archivedTo: string;
            /** @description The id after. */
            newSessionId: string;
            /** @description The id before. */
            oldSessionId: string;
            /** @description The session. */
            sessionKey: components["schemas"]["SessionKey"];
            /**
             * Format: int64
             * @description The tokens that were counted before.
             */
            tokens: number;
        };
        /** @description What is set for one session, over what its agent says. */
        SessionSettings: {
            /**
             * Format: uint32
             * @description The most tokens of one reply.
             */
            maxTokens?: number | null;
            /** @description The model. */
            model?: components["schemas"]["ModelId"] | null;
            /** @description When it begins anew by itself. */
            resetPolicy?: components["schemas"]["ResetPolicy"] | null;
            /** @description What the model is told besides. */
            systemPrompt?: string | null;
            /** @description How hard to think. */
            thinkingLevel?: components["schemas"]["Thinking"] | null;
        };
        /** @description One session. */
        SessionShown: {
            /** @description The session. */
            session: components["schemas"]["SessionWhole"];
        };
        /** @description A session in a list. */
        SessionView: {
            /** @description Whose conversation. */
            agent: string;
            /** @description Whether a turn runs in it now. */
            busy: boolean;
            /**
             * Format: int64
             * @description What that cost, in millionths of a dollar.
             */
            costMicros: number;
            /** @description When it was made. */
            createdAt: string;
            /**
             * Format: int64
             * @description Tokens that went in since the last reset.
             */
            inputTokens: number;
            /** @description What the user calls it. */
            label: string | null;
            /** @description When somebody last said something in it. */
            lastActiveAt: string;
            /**
             * Format: uint64
             * @description How many messages it shows, without what is archived.
             */
            messages: number;
            /**
             * Format: int64
             * @description Tokens that came out since the last reset.
             */
            outputTokens: number;
            /** @description Its present id; a reset gives it another. */
            sessionId: string;
            /** @description Its key, `agent:NAME:REST`. */
            sessionKey: string;
        };
        /** @description One session, whole. */
        SessionWhole: {
            /** @description Whose conversation. */
            agent: string;
            /** @description Whether a turn runs in it now. */
            busy: boolean;
            /**
             * Format: int64
             * @description What that cost, in millionths of a dollar.
             */
            costMicros: number;
            /** @description When it was made. */
            createdAt: string;
            /**
             * Format: int64
             * @description Tokens that went in since the last reset.
             */
            inputTokens: number;
            /** @description What the user calls it. */
            label: string | null;
            /** @description When somebody last said something in it. */
            lastActiveAt: string;
            /** @description When it was last begun anew. */
            lastResetAt: string | null;
            /**
             * Format: uint64
             * @description How many messages it shows, without what is archived.
             */
            messages: number;
            /**
             * Format: int64
             * @description Tokens that came out since the last reset.
             */
            outputTokens: number;
            /** @description The ids it had before. */
            previous: string[];
            /**
             * Format: uint
             * @description How many inputs wait in it.
             */
            queued: number;
            /** @description Its present id; a reset gives it another. */
            sessionId: string;
            /** @description Its key, `agent:NAME:REST`. */
            sessionKey: string;
            /** @description What is set for it. */
            settings: components["schemas"]["SessionSettings"];
        };
        /** @description What a skill needs. */
        SkillNeedsShape: {
            /** @description What one machine must be able to do. */
            capabilities: string[];
        };
        /** @description A machine. */
        SkillNode: {
            /** @description What it can do. */
            hostCapabilities: string[];
            /** @description Its name. */
            nodeId: string;
            /** @description Whether it is connected now. */
            online: boolean;
        };
        /** @description One skill. */
        SkillShown: {
            /** @description The skill. */
            skill: components["schemas"]["SkillText"];
        };
        /** @description Which copy of a skill was found. */
        SkillSource: "agent" | "global";
        /** @description Where a skill stands. */
        SkillStatus: {
            /** @description Whether it is shown whatever the machines can do. */
            always: boolean;
            /** @description What it is for. */
            description: string;
            /** @description Whether an agent is shown it now. */
            eligible: boolean;
            /** @description The connected nodes that can do all it needs. */
            eligibleHosts: string[];
            /** @description Whether it is switched on. */
            enabled?: boolean | null;
            /** @description Where its text is kept. */
            location: string;
            /** @description Its name. */
            name: string;
            /** @description Why it is not shown. */
            reasons: string[];
            /** @description What it needs. */
            requirements: components["schemas"]["SkillNeedsShape"];
        };
        /** @description A skill that was switched. */
        SkillSwitched: {
            /** @description Where it stands now. */
            skill: components["schemas"]["SkillStatus"];
        };
        /** @description A skill with its text. */
        SkillText: {
            /** @description Whether it is shown whatever the machines can do. */
            always: boolean;
            /** @description What it is for. */
            description: string;
            /** @description Whether an agent is shown it now. */
            eligible: boolean;
            /** @description The connected nodes that can do all it needs. */
            eligibleHosts: string[];
            /** @description Whether it is switched on. */
            enabled?: boolean | null;
            /** @description Where its text is kept. */
            location: string;
            /** @description Its name. */
            name: string;
            /** @description Where its text is, as a path of the workspace. */
            path: string;
            /** @description Why it is not shown. */
            reasons: string[];
            /** @description What it needs. */
            requirements: components["schemas"]["SkillNeedsShape"];
            /** @description Whose copy it is. */
            source: components["schemas"]["SkillSource"];
            /** @description Its text. */
            text: string;
        };
        /** @description The skills of an agent and the machines. */
        SkillsStatusResult: {
            /** @description The agent. */
            agentId: string;
            /** @description Every node on record. */
            nodes: components["schemas"]["SkillNode"][];
            /**
             * Format: int64
             * @description When this was looked at, in milliseconds since 1970.
             */
            refreshedAt: number;
            /** @description Every skill, by name. */
            skills: components["schemas"]["SkillStatus"][];
        };
        /** @description Why a model stopped. */
        StopReason: "end" | "calls" | "length";
        /** @description How hard to think. */
        Thinking: "none" | "minimal" | "low" | "medium" | "high" | "xhigh";
        /** @description How hard a model thinks. */
        ThinkingLevel: "none" | "minimal" | "low" | "medium" | "high" | "xhigh";
        /**
         * Format: int64
         * @description Milliseconds since the Unix epoch, as every record stores time.
         */
        Timestamp: number;
        /** @description An item. */
        Todo: {
            /** @description The chat it came from. */
            chat_id?: string | null;
            /** @description What is to be done. */
            content: string;
            /** @description When it was written down, in UTC. */
            created_at?: string | null;
            /** @description When it was done, in UTC. */
            done_at?: string | null;
            /** @description Its name; `complete` takes it as `content`. */
            id: string;
            /** @description When it is next due. */
            next?: string | null;
            /** @description How it comes again. */
            repeat?: string | null;
            /** @description The zone in which that is meant. */
            tz?: string | null;
        };
        /** @description The items. */
        TodoList: {
            /** @description What was done, newest first. */
            done: components["schemas"]["Todo"][];
            /**
             * Format: uint
             * @description How many were done.
             */
            doneCount: number;
            /** @description What is to be done. */
            open: components["schemas"]["Todo"][];
            /**
             * Format: uint
             * @description How many are open.
             */
            openCount: number;
            /** @description What comes again. */
            recurring: components["schemas"]["Todo"][];
        };
        /** @description A token as it is shown: never its text. */
        Token: {
            /** @description Which agents it may act for and talk to. */
            agents: components["schemas"]["Pattern"][];
            /** @description When it was made. */
            createdAt: string;
            /** @description When it ends; never where it is null. */
            expiresAt: string | null;
            /**
             * Format: uuid
             * @description Its id, by which it is taken back.
             */
            id: string;
            /** @description When it was last shown. */
            lastUsedAt: string | null;
            /** @description What its owner calls it. */
            name: string;
            /** @description When it was taken back. */
            revokedAt: string | null;
            /** @description What it is for. */
            role: components["schemas"]["Role"];
            /** @description Whether it is good. */
            state: components["schemas"]["TokenState"];
            /** @description Which tools it may call. */
            tools: components["schemas"]["Pattern"][];
        };
        /** @description All tokens. */
        TokenList: {
            /** @description The tokens, newest first. */
            tokens: components["schemas"]["Token"][];
        };
        /** @description A token that was made. */
        TokenMade: {
            /** @description What is on record of it. */
            record: components["schemas"]["Token"];
            /** @description Its text, which is told this once. */
            token: string;
        };
        /** @description A token that was taken back. */
        TokenRevoked: {
            /** @description What is on record of it. */
            record: components["schemas"]["Token"];
        };
        /** @description Whether a token is good. */
        TokenState: "active" | "expired" | "revoked";
        /** @description The names of each group. */
        ToolGroups: {
            channel: string[];
            core: string[];
            extra: string[];
        };
        /** @description Tools, with the names of each group beside them. */
        ToolList: {
            /** @description The names by group. */
            groups: components["schemas"]["ToolGroups"];
            /** @description Tools that work only in chats of a platform: a preview, since a call of them from here could not. */
            inChats?: components["schemas"]["ToolListing"][];
            /** @description The tools. */
            tools: components["schemas"]["ToolListing"][];
        };
        /** @description One tool in a list. */
        ToolListing: {
            /** @description What it does. */
            description: string;
            /** @description What it does to the world. */
            effects: components["schemas"]["Effect"][];
            /** @description The family it belongs to. */
            family: string;
            /** @description `core`, `extra` or `channel`. */
            group: string;
            /** @description The JSON Schema of its parameters. */
            inputSchema: unknown;
            /** @description The canonical name. */
            name: string;
            /** @description The JSON Schema of its result. */
            outputSchema?: unknown;
            /** @description Where it does its work. */
            runsOn: string;
            /**
             * Format: uint64
             * @description How many seconds a call may take at the most.
             */
            timeoutSeconds: number;
            /** @description The name as model APIs and MCP carry it. */
            wireName: string;
        };
        /** @description What is trusted now. */
        Trusted: {
            /** @description Whether it was not trusted before. */
            changed: boolean;
        };
        /** @description What a turn used up. */
        TurnUsage: {
            /**
             * Format: uint64
             * @description What it cost, in millionths of a dollar, as far as prices are known.
             * @default 0
             */
            costMicros: number;
            /**
             * Format: uint64
             * @description How long it took, from its beginning to its end; absent while it goes on.
             */
            durationMs?: number | null;
            /**
             * Format: uint64
             * @description Tokens that went in.
             * @default 0
             */
            inputTokens: number;
            /**
             * Format: uint64
             * @description Tokens that came out.
             * @default 0
             */
            outputTokens: number;
            /**
             * Format: uint32
             * @description Replies of models.
             * @default 0
             */
            replies: number;
        };
        /** @description An object that was written or changed after untrusted text was read. */
        Untrusted: {
            /** @description When, where that is on record. */
            at: string | null;
            /** @description Who wrote it, where that is on record. */
            author: string | null;
            /** @description Which one. */
            id: string;
            /** @description What kind of object. */
            kind: components["schemas"]["Kind"];
            /** @description The untrusted text that was read before. */
            source: string;
        };
        /** @description What is not trusted. */
        UntrustedList: {
            /** @description Files and agents, then jobs, then conversations with the latest first. */
            objects: components["schemas"]["Untrusted"][];
        };
        /** @description What models used up. */
        UsageList: {
            /** @description By day, agent, session and model. */
            rows: components["schemas"]["UsageRow"][];
            /** @description The first day that is counted. */
            since: string;
            /** @description Everything together. */
            total: components["schemas"]["UsageTotal"];
        };
        /** @description What was used up on one day, by one agent, in one session, of one model. */
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
             * @description How many replies.
             */
            calls: number;
            /**
             * Format: int64
             * @description What it cost, in millionths of a dollar, as far as prices are known.
             */
            costMicros: number;
            /** @description The day, in the owner's zone. */
            day: string;
            /**
             * Format: int64
             * @description Tokens that were read.
             */
            inputTokens: number;
            /** @description The model. */
            model: string;
            /**
             * Format: int64
             * @description Tokens that were written.
             */
            outputTokens: number;
            /** @description The session. */
            sessionKey: string;
        };
        /** @description Everything together. */
        UsageTotal: {
            /**
             * Format: int64
             * @description How many replies.
             */
            calls: number;
            /**
             * Format: int64
             * @description What it cost, in millionths of a dollar.
             */
            costMicros: number;
            /**
             * Format: int64
             * @description Tokens that were read.
             */
            inputTokens: number;
            /**
             * Format: int64
             * @description Tokens that were written.
             */
            outputTokens: number;
        };
        /** @description What is known of a secret in a vault. */
        VaultEntry: {
            /** @description When it was first kept. */
            created: components["schemas"]["Timestamp"];
            /** @description The hosts it may be sent to; `*.example.com` stands for everything beneath. */
            hosts: string[];
            /** @description Its name. */
            name: string;
            /** @description When it was last kept. */
            updated: components["schemas"]["Timestamp"];
        };
        /** @description A secret of a vault that was forgotten. */
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
        /** @description A secret that was put into a vault. */
        VaultSecretStored: {
            /**
             * Format: uuid
             * @description The vault.
             */
            collectionId: string;
            /** @description The hosts it may be sent to. */
            hosts: string[];
            /** @description The secret's name. */
            name: string;
            /** @description Always true. */
            stored: boolean;
        };
        /** @description Who asks. */
        Who: {
            /** @description The name of the token. */
            name: string;
            /** @description Whether it is the owner. */
            owner: boolean;
            /** @description What it is for. */
            role: components["schemas"]["Role"];
            /** @description The address under which others reach the gateway. */
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
            /** @description the answer, in the format of RFC 9728 */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description what was wrong, with a stable code, in the format of RFC 9728 */
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
            /** @description the answer, in the format of RFC 9728 */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description what was wrong, with a stable code, in the format of RFC 9728 */
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
            /** @description the answer, in the format of RFC 9728 */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description what was wrong, with a stable code, in the format of RFC 9728 */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                /** @description Also those already answered, used or expired. */
                all?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                     * @description Whether it may run.
                     * @enum {string}
                     */
                    decision: "approve" | "deny";
                    /** @description What the model is told with a denial. */
                    message?: string | null;
                    /**
                     * @description How far an approval reaches: `once` unless said; `conversation` covers calls like it until the
                     *     conversation is reset; `always` adds the proposed rule to the policy.
                     * @default once
                     */
                    scope?: "once" | "conversation" | "always";
                };
            };
        };
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                /** @description Only those of this agent. */
                agent?: string | null;
                /** @description Only those in this chat; `results` for large results. */
                chat?: string | null;
                /** @description How many at most; 100 when not said. */
                limit?: number | null;
                /** @description How many to pass over. */
                offset?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                /** @description The name of the file. */
                name: string;
                /** @description Its media type; by its name when not said. */
                type?: string | null;
                /** @description For which agent; `main` when not said. */
                agent?: string | null;
                /** @description Into which chat; a new one when not said. */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": unknown;
                };
            };
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                /** @description Only tools that fit this pattern. */
                tool?: string | null;
                /** @description Only this caller's key. */
                caller?: string | null;
                /** @description Only calls on behalf of this agent. */
                agent?: string | null;
                /** @description Only this call, by the id that `x-manyhands-call` of its answer gave. */
                call?: string | null;
                /** @description Only `ok` or `error`. */
                status?: ("" | "ok" | "error") | null;
                /** @description Only entries after this number. */
                after?: number | null;
                /** @description Only entries before this number: the next page. */
                before?: number | null;
                /** @description How many at most; 100 when not said, 1000 at most. */
                limit?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                     * @description Slack: the app's token.
                     * @default null
                     */
                    appToken?: string | null;
                    /**
                     * @description How events come: `poll`, `socket` or `webhook`.
                     * @default null
                     */
                    mode?: ("poll" | "socket" | "webhook") | null;
                    /**
                     * @description WhatsApp: the phone number id.
                     * @default null
                     */
                    number?: string | null;
                    /**
                     * @description The secret by which webhooks are known to be the platform's.
                     * @default null
                     */
                    secret?: string | null;
                    /**
                     * @description The token.
                     * @default null
                     */
                    token?: string | null;
                    /**
                     * @description WhatsApp: what was typed in where the webhook was set up.
                     * @default null
                     */
                    verifyToken?: string | null;
                };
            };
        };
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                 * @description Seconds to wait for the owner's approval before answering that the run is paused, at most
                 *     600; 0 when not said. A stream is not ended by this.
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
                    /** @description Whose session, where `sessionKey` does not say; `main` when not said. */
                    agentId?: string | null;
                    /** @description The words. */
                    message: string;
                    /** @description Pictures beside the words. */
                    pictures?: {
                        /** @description Its bytes in base64. */
                        data: string;
                        /**
                         * @description For example `image/png`.
                         * @enum {string}
                         */
                        mimeType: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
                    }[];
                    /** @description The asker's own id of this run: sent again it is the same run, not another. */
                    runId?: string | null;
                    /** @description The session: a name, or `agent:NAME:REST`; `main` when not said. */
                    sessionKey?: string | null;
                };
            };
        };
        responses: {
            /** @description the answer */
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
            /** @description it waits for the owner */
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
            /** @description what was wrong, with a stable code */
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
                    /** @description Whose session, where `sessionKey` does not say; `main` when not said. */
                    agentId?: string | null;
                    /** @description The session; `main` when not said. */
                    sessionKey?: string | null;
                };
            };
        };
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                /** @description A dotted path; everything when not said. */
                path?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                    /** @description A dotted path. */
                    path: string;
                    /** @description The new value. */
                    value: unknown;
                };
            };
        };
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                /** @description A dotted path. */
                path: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                    /** @description The agents that may use it, by pattern; all when not said. */
                    agents?: string[] | null;
                    /**
                     * @description Its credentials by name. `token` is sent as a bearer token unless the server's headers say
                     *     otherwise; for a program each is a variable of its environment.
                     * @default {}
                     */
                    credentials?: {
                        [key: string]: string;
                    };
                    /** @description What to call it; the service's name when not said. */
                    name?: string | null;
                    /** @description The service: the name of an MCP server, or what its `service` says. */
                    service: string;
                };
            };
        };
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                    /** @description The agents that may use it, by pattern. */
                    agents?: string[] | null;
                    /**
                     * @description Credentials to set, by name.
                     * @default {}
                     */
                    credentials?: {
                        [key: string]: string;
                    };
                    /** @description What to call it. */
                    name?: string | null;
                };
            };
        };
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                    /** @description The code, as `manyhands nodes code` printed it. */
                    code: string;
                };
            };
        };
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                /** @description The words. */
                query: string;
                /** @description Of this agent; for the owner of all when not said, for others of `main`. */
                agent?: string | null;
                /** @description How many; 20 when not said. */
                limit?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                    /** @description Whether the model becomes `models.default`; when not said, it does where there is none. */
                    default?: boolean | null;
                    /**
                     * @description Its key, which goes into the vault under the maker's name. When not said, the one that is there
                     *     is used.
                     */
                    key?: string | null;
                    /** @description The maker's name. */
                    maker: string;
                    /** @description The model, as the maker calls it; the maker's usual one when not said. */
                    model?: string | null;
                };
            };
        };
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                    /** @description As `provider/model`; `models.default` when not said. */
                    model?: string | null;
                };
            };
        };
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                     * @description How many seconds the code is good; 900 when not said, a week at most.
                     */
                    expiresInSeconds?: number | null;
                    /** @description The name the machine will have, 1-32 of a-z, 0-9 and -. */
                    nodeId: string;
                };
            };
        };
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                /** @description Also when it is connected. */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description what was wrong, with a stable code */
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
                /** @description `pending`, `sending`, `sent`, `failed`, `unknown` or `dropped`; all that did not arrive when not said. */
                state?: "pending" | "sending" | "sent" | "failed" | "unknown" | "dropped" | null;
                /** @description How many at most; 100 when not said, 1000 at most. */
                limit?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                     * @description Whether it is the owner.
                     * @default false
                     */
                    owner?: boolean;
                };
            };
        };
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                    /** @description On whose behalf; `main` when not said. */
                    agent?: string | null;
                    /**
                     * @description Its arguments.
                     * @default null
                     */
                    arguments?: unknown;
                    /**
                     * @description Whether the agent decides on the call in a turn, instead of the token's bearer directly.
                     * @default false
                     */
                    byAgent?: boolean;
                    /** @description Under which token name. */
                    name?: string | null;
                    /** @description As which role; `owner` when not said. */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                     * @description What it is for.
                     * @default
                     */
                    description?: string;
                    /**
                     * @description Who may use it.
                     * @default []
                     */
                    grants?: {
                        /** @description The agent. */
                        agent: string;
                        /** @description What it may do. */
                        level: "read" | "write" | "admin";
                    }[];
                    /** @description What it holds. */
                    kind: "datastore" | "filestore" | "knowledge" | "vault";
                    /** @description Its name. */
                    name: string;
                };
            };
        };
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                    /** @description How much. */
                    level: "read" | "write" | "admin";
                };
            };
        };
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                     * @description The hosts it may be sent to, such as `api.example.com` or `*.example.com`.
                     * @default []
                     */
                    hosts?: string[];
                    /** @description The secret itself. */
                    value: string;
                };
            };
        };
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                    /** @description The secret itself, of at least 8 characters. */
                    value: string;
                };
            };
        };
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                    /** @description Its name: 1-32 of A-Z, a-z, 0-9, - and _. */
                    name: string;
                    /**
                     * @description What would stand under `mcpServers` in config.toml. Only servers elsewhere, by `url`, are added
                     *     over the network; programs of the gateway's machine are set in the file.
                     */
                    server: {
                        /**
                         * @description Agents for which it may be used, by name.
                         * @default [
                         *       "*"
                         *     ]
                         */
                        agents?: string[];
                        /**
                         * @description Its arguments.
                         * @default []
                         */
                        args?: string[];
                        /**
                         * @description Whether it hears that it may ask questions, for servers that offer some tools only then. Clients at `/mcp/NAME` are asked
                         *     whatever this says; where a call comes from elsewhere, questions are dismissed.
                         * @default false
                         */
                        asks?: boolean;
                        /**
                         * @description The program to start.
                         * @default null
                         */
                        command?: string | null;
                        /**
                         * @description The folder it starts in; a private one unless said.
                         * @default null
                         */
                        cwd?: string | null;
                        /**
                         * @description Other descriptions for tools, by their names there.
                         * @default {}
                         */
                        descriptions?: {
                            [key: string]: string;
                        };
                        /**
                         * @description Whether it is used.
                         * @default true
                         */
                        enabled?: boolean;
                        /**
                         * @description Its environment. A value may hold `${NAME}`: a credential of the connection that is used,
                         *     else a secret of the vault.
                         * @default {}
                         */
                        env?: {
                            [key: string]: string;
                        };
                        /**
                         * @description For a program in the sandbox: folders it may read and write besides its own.
                         * @default []
                         */
                        folders?: string[];
                        /**
                         * @description Headers to send with every request; values as in `env`.
                         * @default {}
                         */
                        headers?: {
                            [key: string]: string;
                        };
                        /**
                         * @description Of those, the tools that are not.
                         * @default []
                         */
                        hide?: string[];
                        /**
                         * @description Whether tools that appear after the first time wait for your word, as changed ones do.
                         * @default false
                         */
                        holdNew?: boolean;
                        /**
                         * @description For a program in the sandbox: whether it may use the network.
                         * @default true
                         */
                        network?: boolean;
                        /**
                         * @description How to log in, where the server does not say all of it itself.
                         * @default null
                         */
                        oauth?: {
                            /**
                             * @description The client's id, where the server does not register clients by itself.
                             * @default null
                             */
                            clientId?: string | null;
                            /**
                             * @description Its secret, as `vault:NAME`.
                             * @default null
                             */
                            clientSecret?: string | null;
                            /**
                             * @description What to ask for; what the server names unless said.
                             * @default []
                             */
                            scopes?: string[];
                        } | null;
                        /**
                         * @description The OpenAPI document of an HTTP service, a file or an address: each operation becomes a
                         *     tool of the server `dynamic/NAME`. `url` says where the service is when the document does not.
                         *     Hosts are accepted together with the tools, and a document that names others later is held until you
                         *     accept it. Private addresses have to be in `egress.allow_private`.
                         * @default null
                         */
                        openapi?: string | null;
                        /**
                         * @description Other names for tools: theirs, then ours.
                         * @default {}
                         */
                        rename?: {
                            [key: string]: string;
                        };
                        /**
                         * @description For a program: `on` confines it to its own folder and read-only system files; `off` leaves it
                         *     as free as the gateway's user.
                         * @default off
                         */
                        sandbox?: "on" | "off";
                        /**
                         * @description The service whose connections it uses; its own name unless said.
                         * @default null
                         */
                        service?: string | null;
                        /**
                         * Format: uint64
                         * @description Seconds a call may take. What somebody needs to answer a question of the server does not count.
                         * @default 60
                         */
                        timeout?: number;
                        /**
                         * @description Tokens by which it may be used, by name; the owner's always may.
                         * @default [
                         *       "*"
                         *     ]
                         */
                        tokens?: string[];
                        /**
                         * @description The tools that are offered, by their names there.
                         * @default [
                         *       "*"
                         *     ]
                         */
                        tools?: string[];
                        /**
                         * @description How it is spoken to: `stdio`, `http` or `sse`. Follows from `command` or `url` unless said;
                         *     an `http` server that only knows the older `sse` is found out by itself.
                         * @default null
                         */
                        type?: ("stdio" | "http" | "sse") | null;
                        /**
                         * @description Its address.
                         * @default null
                         */
                        url?: string | null;
                    };
                };
            };
        };
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                    /** @description What was shown: the fingerprint of each tool. What has changed again since is not taken on. */
                    fingerprints?: {
                        [key: string]: string;
                    } | null;
                    /** @description The tool, by its name there; all that is held back when not said. */
                    tool?: string | null;
                };
            };
        };
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                     * @description The PCID of an account that was opened by a login before; the first there is when not said.
                     * @default null
                     */
                    connection?: string | null;
                    /**
                     * @description A name for a further account.
                     * @default null
                     */
                    name?: string | null;
                };
            };
        };
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                /** @description The PCID of the account; needed where there are several. */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                    /** @description The code of a login link, which works once. */
                    code: string;
                };
            };
        };
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                /** @description Of this agent; of all when not said. */
                agent?: string | null;
                /** @description How many; 50 when not said. */
                limit?: number | null;
                /** @description How many to leave out first. */
                offset?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                     * @description How many of the last messages a model is still shown; 20 when not said.
                     */
                    keep?: number | null;
                };
            };
        };
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                /** @description How many; 50 when not said. */
                limit?: number | null;
                /** @description Only those before this number. */
                before?: number | null;
            };
            header?: never;
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                    /**
                     * @description What the user calls it.
                     * @default null
                     */
                    label?: string | null;
                    /**
                     * Format: uint32
                     * @description The most tokens of one reply.
                     * @default null
                     */
                    maxTokens?: number | null;
                    /**
                     * @description As `provider/model`. Only the owner sets it.
                     * @default null
                     */
                    model?: string | null;
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
                         * @description At this hour of the user's day.
                         */
                        atHour: number;
                        /** @constant */
                        mode: "daily";
                    } | {
                        /**
                         * Format: uint32
                         * @description For so many minutes.
                         */
                        idleMinutes: number;
                        /** @constant */
                        mode: "idle";
                    }) | null;
                    /**
                     * @description What the model is told besides. Only the owner sets it.
                     * @default null
                     */
                    systemPrompt?: string | null;
                    /**
                     * @description How hard to think.
                     * @default null
                     */
                    thinkingLevel?: ("none" | "minimal" | "low" | "medium" | "high" | "xhigh") | null;
                };
            };
        };
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "image/*": unknown;
                };
            };
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                     * @description The number of the user's message from which on everything is taken back.
                     */
                    seq: number;
                };
            };
        };
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                /** @description Of this agent; of `main` when not said. */
                agent?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                /** @description Of this agent; of `main` when not said. */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                    /** @description As this agent sees it; `main` when not said. The switch holds for every agent. */
                    agent?: string | null;
                    /** @description Whether it is used. */
                    enabled: boolean;
                };
            };
        };
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                /** @description How many of the done ones, newest first; 100 when not said. */
                done?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                     * @description Which agents it may act for and talk to; `main` when not said, all for an owner.
                     * @default []
                     */
                    agents?: string[];
                    /**
                     * Format: uint64
                     * @description How many seconds it lives; for ever when not said.
                     */
                    expiresInSeconds?: number | null;
                    /** @description What you call it, 1-64 characters. */
                    name: string;
                    /** @description What it is for. */
                    role: "owner" | "client" | "node" | "read-only" | "channel";
                    /**
                     * @description Which tools it may call; all when not said.
                     * @default []
                     */
                    tools?: string[];
                };
            };
        };
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                /** @description `all` when not said; `small`, one of `mcp.profiles`, or `default` for what `/mcp` shows. */
                profile?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                    /** @description Read everything anew instead of what was read a moment ago. */
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
                        /** @description What fits the request, the best first. */
                        result: {
                            /** @description Why, when asked for. */
                            _metadata?: unknown;
                            /** @description How many connections there are of services of which only one was picked. */
                            alternativesAvailable?: {
                                [key: string]: number;
                            };
                            /** @description What to know about how this was found. */
                            note?: string | null;
                            results: {
                                /** @description How likely it is what was asked for, between 0 and 1. */
                                confidence: number;
                                /** @description What it is, in one line. */
                                description: string;
                                /** @description Whether there is a skill about it. */
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
                            /** @description The steps that a long request was taken apart into. */
                            steps?: string[];
                        };
                    };
                };
            };
            /** @description what was wrong, with a stable code */
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
                        /** @description What was sent, and where. */
                        result: {
                            /** @description The platform. */
                            channel: string;
                            /** @description The chat. */
                            chat_id: string;
                            /** @description The contact. */
                            contact_id: string;
                            /** @description What became of it. */
                            delivery: {
                                /** @description By which it is looked up. */
                                id: string;
                                /** @description Why it is not further, where the platform says so. */
                                reason?: string | null;
                                /** @description How far it is, such as `pending` or `sent`. */
                                state: string;
                            };
                            /** @description The same message to the same chat has the same key for an hour, and is sent once. */
                            idempotency_key: string;
                            /** @description The message. */
                            message_id: string;
                            /** @description Whether it was taken. */
                            ok: boolean;
                            /** @description Whether it had been sent within the hour; what is told is what became of the first. */
                            repeated?: boolean;
                            /** @description Which message it answers. */
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
            /** @description what was wrong, with a stable code */
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
                            /** @description The path as it was asked for. */
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
                            /** @description The path as it was asked for. */
                            path: string;
                        };
                    };
                };
            };
            /** @description what was wrong, with a stable code */
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
                        /** @description What was written. */
                        result: {
                            /** @description The content type, from the extension. */
                            contentType: string;
                            /** @description The path as it was asked for. */
                            path: string;
                            /** @description The size in bytes. */
                            size: number;
                            /** @description Always true: a failed write is an error. */
                            written: boolean;
                        };
                    };
                };
            };
            /** @description what was wrong, with a stable code */
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
                        /** @description What happened. */
                        result: {
                            /**
                             * @description The action that was done.
                             * @enum {string}
                             */
                            action: "add" | "complete" | "add_recurring";
                            /** @description How many lines changed. */
                            changed: {
                                /** @description Lines that came into TODO.DONE.md. */
                                done_added: number;
                                /** @description Lines that came into TODO.RECUR.md. */
                                recurring_added?: number | null;
                                /** @description Lines that came into TODO.md. */
                                wip_added: number;
                                /** @description Lines that went from TODO.md. */
                                wip_removed: number;
                            };
                            /** @description The item it was about. */
                            entry: {
                                /** @description The chat it came from. */
                                chat_id?: string | null;
                                /** @description What is to be done. */
                                content: string;
                                /** @description When it was written down, in UTC. */
                                created_at?: string | null;
                                /** @description When it was done, in UTC. */
                                done_at?: string | null;
                                /** @description Its name; `complete` takes it as `content`. */
                                id: string;
                                /** @description When it is next due. */
                                next?: string | null;
                                /** @description How it comes again. */
                                repeat?: string | null;
                                /** @description The zone in which that is meant. */
                                tz?: string | null;
                            };
                            /** @description Whether the operation succeeded. */
                            ok: boolean;
                            /** @description Open items that said the same and were struck out. */
                            removed?: {
                                /** @description The chat it came from. */
                                chat_id?: string | null;
                                /** @description What is to be done. */
                                content: string;
                                /** @description When it was written down, in UTC. */
                                created_at?: string | null;
                                /** @description When it was done, in UTC. */
                                done_at?: string | null;
                                /** @description Its name; `complete` takes it as `content`. */
                                id: string;
                                /** @description When it is next due. */
                                next?: string | null;
                                /** @description How it comes again. */
                                repeat?: string | null;
                                /** @description The zone in which that is meant. */
                                tz?: string | null;
                            }[];
                            /** @description How many there are now. */
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
            /** @description what was wrong, with a stable code */
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
                /** @description On whose workspace and behalf; `main` when not said. */
                agent?: string | null;
                /** @description Seconds to wait for the owner's approval, at most 600; 0 when not said. */
                wait?: number | null;
                /** @description Seconds the call may take, when less than the tool's own limit. */
                timeout?: number | null;
                /** @description The PCID of the account to use, for a tool of an MCP server; the first of its service when not said. */
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
            /** @description what the tool gave */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
            /** @description what was wrong, with a stable code */
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
                /** @description On whose workspace and behalf; `main` when not said. */
                agent?: string | null;
                /** @description Seconds to wait for the owner's approval, at most 600; 0 when not said. */
                wait?: number | null;
                /** @description Seconds the call may take, when less than the tool's own limit. */
                timeout?: number | null;
                /** @description The PCID of the account to use, for a tool of an MCP server; the first of its service when not said. */
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
            /** @description what the tool gave */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Envelope"];
                };
            };
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                    /** @description Which one, as it is listed. */
                    id: string;
                    /** @description What kind of object. */
                    kind: "file" | "agent" | "job" | "session";
                };
            };
        };
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                /** @description How many days, today included; 30 when not said. */
                days?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                /** @description How many days, today included; 30 when not said. */
                days?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the answer */
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
            /** @description what was wrong, with a stable code */
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
                /** @description Until when the link is good, in seconds since 1970. */
                expires: number;
                /** @description What makes it genuine. */
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
            /** @description the answer */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": unknown;
                };
            };
            /** @description what was wrong, with a stable code */
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
            /** @description the answer */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": unknown;
                };
            };
            /** @description what was wrong, with a stable code */
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
            /** @description the answer, in what the platform expects */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description what was wrong, with a stable code, in what the platform expects */
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
            /** @description the answer, in what the platform expects */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description what was wrong, with a stable code, in what the platform expects */
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
            /** @description the answer */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": unknown;
                };
            };
            /** @description what was wrong, with a stable code */
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
            /** @description a page that says what was wrong */
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
            /** @description the answer, in the format of client id metadata documents */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description what was wrong, with a stable code, in the format of client id metadata documents */
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
            /** @description the answer */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": unknown;
                };
            };
            /** @description what was wrong, with a stable code */
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
                    /** @description How much more or less likely tokens become, by token id. */
                    logit_bias?: {
                        [key: string]: unknown;
                    } | null;
                    /**
                     * Format: uint32
                     * @description The same by its newer name.
                     */
                    max_completion_tokens?: number | null;
                    /**
                     * Format: uint32
                     * @description The most tokens of one reply of the agent's model.
                     */
                    max_tokens?: number | null;
                    /** @description The conversation. */
                    messages: {
                        /** @description A text, or a list of texts and images. */
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
                        /** @description What the assistant thought. */
                        reasoning_content?: string | null;
                        /** @enum {string} */
                        role: "system" | "developer" | "user" | "assistant" | "tool";
                        /** @description Which call a message of the role `tool` answers. */
                        tool_call_id?: string | null;
                        /** @description The calls of tools of the client's, by the assistant. */
                        tool_calls?: {
                            function: {
                                /**
                                 * @description JSON, as text.
                                 * @default
                                 */
                                arguments?: string;
                                name: string;
                            };
                            id: string;
                        }[] | null;
                    }[];
                    /**
                     * @description `session`: the session to say the last message in, where the header `x-session-key` does not name one. Other
                     *     keys are accepted and ignored.
                     */
                    metadata?: {
                        /** @description The key of a session. */
                        session?: string | null;
                    } | null;
                    /** @description The agent: `agent/NAME` or `NAME`. */
                    model: string;
                    /**
                     * Format: uint32
                     * @description How many answers: one.
                     */
                    n?: number | null;
                    parallel_tool_calls?: boolean | null;
                    /** Format: double */
                    presence_penalty?: number | null;
                    /** @description How hard to think. */
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
                    /** @description Texts at which a reply ends. */
                    stop?: (string | string[]) | null;
                    /** @description Whether to answer in pieces. */
                    stream?: boolean | null;
                    /** @description What a stream holds. */
                    stream_options?: {
                        /**
                         * @description Whether the last piece tells what was used up.
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
                    /** @description Tools that the client runs, besides those of the agent. */
                    tools?: {
                        function: {
                            description?: string | null;
                            name: string;
                            /** @description The JSON Schema of its arguments. */
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
            /** @description the answer, in OpenAI's format */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/event-stream": unknown;
                };
            };
            /** @description what was wrong, with a stable code, in OpenAI's format */
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
                     * @description The most tokens of one reply of the agent's model.
                     */
                    max_tokens?: number | null;
                    /** @description The conversation. */
                    messages: {
                        /** @description What a message holds. */
                        content: string | ({
                            text: string;
                            /** @constant */
                            type: "text";
                        } | {
                            /** @description Where an image comes from. */
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
                                /** @description Where an image comes from. */
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
                    /** @description `session`: the session to say the last message in, where the header `x-session-key` does not name one. */
                    metadata?: {
                        /** @description The key of a session. */
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
                    /** @description Texts at which a reply ends. */
                    stop_sequences?: string[] | null;
                    /** @description Whether to answer in pieces. */
                    stream?: boolean | null;
                    /** @description What the model is told besides. */
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
                    /** @description Tools that the client runs, besides those of the agent. */
                    tools?: {
                        description?: string | null;
                        /** @description The JSON Schema of its arguments. */
                        input_schema?: {
                            [key: string]: unknown;
                        } | null;
                        name: string;
                        /**
                         * @description `custom` when not set. Tools that Anthropic would run (`web_search_...`, `web_fetch_...`, `code_execution_...`) are
                         *     left out, since the agent has tools of its own.
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
            /** @description the answer, in Anthropic's format */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/event-stream": unknown;
                };
            };
            /** @description what was wrong, with a stable code, in Anthropic's format */
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
                     * @description The most tokens of one reply of the agent's model.
                     */
                    max_tokens?: number | null;
                    /** @description The conversation. */
                    messages: {
                        /** @description What a message holds. */
                        content: string | ({
                            text: string;
                            /** @constant */
                            type: "text";
                        } | {
                            /** @description Where an image comes from. */
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
                                /** @description Where an image comes from. */
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
                    /** @description `session`: the session to say the last message in, where the header `x-session-key` does not name one. */
                    metadata?: {
                        /** @description The key of a session. */
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
                    /** @description Texts at which a reply ends. */
                    stop_sequences?: string[] | null;
                    /** @description Whether to answer in pieces. */
                    stream?: boolean | null;
                    /** @description What the model is told besides. */
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
                    /** @description Tools that the client runs, besides those of the agent. */
                    tools?: {
                        description?: string | null;
                        /** @description The JSON Schema of its arguments. */
                        input_schema?: {
                            [key: string]: unknown;
                        } | null;
                        name: string;
                        /**
                         * @description `custom` when not set. Tools that Anthropic would run (`web_search_...`, `web_fetch_...`, `code_execution_...`) are
                         *     left out, since the agent has tools of its own.
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
            /** @description the answer, in Anthropic's format */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description what was wrong, with a stable code, in Anthropic's format */
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
            /** @description the answer, in OpenAI's format */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description what was wrong, with a stable code, in OpenAI's format */
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
            /** @description the answer, in OpenAI's format */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description what was wrong, with a stable code, in OpenAI's format */
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
                    /** @description What is said: a text, or a conversation. */
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
                        /** @description JSON, as text. */
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
                    /** @description What the model is told besides. */
                    instructions?: string | null;
                    /**
                     * Format: uint32
                     * @description The most tokens of one reply of the agent's model.
                     */
                    max_output_tokens?: number | null;
                    /** @description `session`: the session to say the last message in, where the header `x-session-key` does not name one. */
                    metadata?: {
                        /** @description The key of a session. */
                        session?: string | null;
                    } | null;
                    /** @description The agent: `agent/NAME` or `NAME`. */
                    model: string;
                    parallel_tool_calls?: boolean | null;
                    /** @description The answer that this follows, by its id. Answers are remembered for a day, unless `store` is false. */
                    previous_response_id?: string | null;
                    reasoning?: {
                        effort?: ("none" | "minimal" | "low" | "medium" | "high" | "xhigh") | null;
                    } | null;
                    /** @description Whether later requests may refer to the answer; true when not set. */
                    store?: boolean | null;
                    /** @description Whether to answer in pieces. */
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
                    /** @description Tools that the client runs, besides those of the agent. */
                    tools?: ({
                        description?: string | null;
                        name: string;
                        /** @description The JSON Schema of its arguments. */
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
                            /** @description The JSON Schema of its arguments. */
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
            /** @description the answer, in OpenAI's format */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/event-stream": unknown;
                };
            };
            /** @description what was wrong, with a stable code, in OpenAI's format */
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
