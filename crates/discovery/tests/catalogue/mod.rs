//! Tools as people have them, and what they would say to reach them.

/// Server, name, description.
pub const TOOLS: &[(&str, &str, &str)] = &[
    (
        "gmail",
        "send_message",
        "Send an email with optional attachments",
    ),
    (
        "gmail",
        "search_threads",
        "Search the mailbox for conversations that match a query",
    ),
    (
        "gmail",
        "create_draft",
        "Save an email as a draft without sending it",
    ),
    (
        "calendar",
        "create_event",
        "Create an event in a calendar with guests and reminders",
    ),
    (
        "calendar",
        "list_events",
        "List the events between two times",
    ),
    ("calendar", "free_busy", "Tell when people are free or busy"),
    ("drive", "upload_file", "Upload a file into a folder"),
    (
        "drive",
        "share_file",
        "Give somebody access to a file or folder",
    ),
    ("drive", "search_files", "Find files by name or content"),
    ("slack", "post_message", "Post a message to a channel"),
    (
        "slack",
        "list_channels",
        "List the channels of the workspace",
    ),
    ("github", "create_issue", "Open a new issue in a repository"),
    ("github", "merge_pull_request", "Merge a pull request"),
    ("github", "list_commits", "List the commits of a branch"),
    (
        "jira",
        "transition_ticket",
        "Move a ticket to another status",
    ),
    ("stripe", "list_invoices", "List the invoices of a customer"),
    (
        "stripe",
        "refund_payment",
        "Refund a payment wholly or in part",
    ),
    (
        "postgres",
        "run_query",
        "Run a read-only SQL query and return rows",
    ),
    (
        "postgres",
        "describe_table",
        "Show columns, types and indexes of a table",
    ),
    (
        "docker",
        "container_logs",
        "Show the log output of a container",
    ),
    ("docker", "restart_container", "Restart a container"),
    (
        "kubernetes",
        "scale_deployment",
        "Change how many replicas of a deployment run",
    ),
    (
        "weather",
        "forecast",
        "The weather of the next days at a place",
    ),
    (
        "maps",
        "route",
        "Compute a route between two places by car, foot or bicycle",
    ),
    ("maps", "geocode", "Turn an address into coordinates"),
    (
        "translate",
        "translate_text",
        "Translate text from one language into another",
    ),
    (
        "image",
        "resize_image",
        "Change width and height of a picture",
    ),
    (
        "image",
        "remove_background",
        "Cut the subject of a photo out of its background",
    ),
    ("pdf", "extract_text", "Read the text of a PDF document"),
    ("pdf", "merge_pdfs", "Join several PDF documents into one"),
    (
        "crm",
        "create_contact",
        "Add a person to the address book of customers",
    ),
    (
        "crm",
        "update_deal_stage",
        "Move a deal to another stage of the pipeline",
    ),
    (
        "analytics",
        "page_views",
        "Count the visits of a website by day",
    ),
    (
        "currency",
        "convert",
        "Convert an amount of money between currencies",
    ),
    ("stocks", "quote", "The current price of a share"),
    ("news", "headlines", "The latest headlines about a topic"),
    ("music", "create_playlist", "Make a playlist of songs"),
    (
        "smart_home",
        "set_thermostat",
        "Set the temperature of a room",
    ),
    (
        "flights",
        "search_flights",
        "Find flights between two airports",
    ),
    ("hotels", "book_room", "Book a room in a hotel"),
    ("recipes", "find_recipe", "Find a recipe by ingredients"),
    (
        "passwords",
        "generate_password",
        "Generate a strong random password",
    ),
];

/// What somebody says, and the name of the tool they mean.
pub const QUERIES: &[(&str, &str)] = &[
    ("mail the report to my boss", "send_message"),
    (
        "find the conversation with the landlord in my inbox",
        "search_threads",
    ),
    ("write an email but don't send it yet", "create_draft"),
    ("schedule a meeting with Tom on Friday", "create_event"),
    ("what is on my agenda today?", "list_events"),
    ("when are Ann and Bob both free?", "free_busy"),
    ("put this document into the team folder", "upload_file"),
    (
        "give Peter access to the budget spreadsheet file",
        "share_file",
    ),
    ("where is that file about the merger", "search_files"),
    ("tell the #general channel that we are done", "post_message"),
    ("which channels exist in our workspace", "list_channels"),
    ("report a bug in the repo", "create_issue"),
    ("merge PR 42", "merge_pull_request"),
    ("what was committed on main this week", "list_commits"),
    ("mark the ticket as done in jira", "transition_ticket"),
    ("show all bills of this client", "list_invoices"),
    (
        "give the customer their money back for that payment",
        "refund_payment",
    ),
    ("query the database for all users", "run_query"),
    ("what columns does the orders table have", "describe_table"),
    ("why did my container crash? show logs", "container_logs"),
    ("the nginx container hangs, restart it", "restart_container"),
    (
        "run five replicas of the web deployment",
        "scale_deployment",
    ),
    ("will it rain in Oslo tomorrow?", "forecast"),
    (
        "how do I drive from Rome to Milan, give me directions",
        "route",
    ),
    ("coordinates of 10 Downing Street address", "geocode"),
    ("say this in Spanish", "translate_text"),
    ("make the photo smaller, 800 pixels width", "resize_image"),
    (
        "cut out the background of my portrait picture",
        "remove_background",
    ),
    ("read me what this pdf says", "extract_text"),
    ("combine these three pdfs", "merge_pdfs"),
    ("add Jane Doe as a new client contact", "create_contact"),
    (
        "the deal with Acme moves to negotiation",
        "update_deal_stage",
    ),
    ("how many visitors did our site have", "page_views"),
    ("how many dollars are 100 euros", "convert"),
    ("price of Apple stock", "quote"),
    ("any news about the election?", "headlines"),
    (
        "put together some tracks for my party playlist",
        "create_playlist",
    ),
    (
        "make the living room warmer, 22 degrees temperature",
        "set_thermostat",
    ),
    (
        "cheapest plane from Berlin to Madrid airport",
        "search_flights",
    ),
    ("reserve accommodation in Paris for two nights", "book_room"),
    (
        "what can I cook with leeks and potatoes as ingredients",
        "find_recipe",
    ),
    ("I need a new secure password", "generate_password"),
];
