-- In which conversation a program in the background was started, and by which token.
ALTER TABLE node_news ADD COLUMN session_key TEXT;
ALTER TABLE node_news ADD COLUMN token TEXT;
