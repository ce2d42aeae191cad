// Artifacts that results of tools tell of.

export type Made = { id: string; name: string; mime: string; size: number };

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const LONGEST = 20_000;

/** Whether bytes of this kind are words. */
export const isText = (mime: string): boolean => /^text\/|json|xml|yaml|toml|javascript/.test(mime);

/** The artifact that a result tells of, if it tells of one. */
export function artifactIn(result: string): Made | null {
  if (!result.startsWith('{') || result.length > LONGEST) return null;
  try {
    const told = JSON.parse(result) as Record<string, unknown>;
    const [id, name, mime] = [told.id ?? told.artifactId, told.filename ?? told.name, told.mimeType];
    if (typeof id !== 'string' || !ID.test(id) || typeof name !== 'string' || typeof mime !== 'string') return null;
    return { id, name, mime, size: Number(told.size) || 0 };
  } catch {
    return null;
  }
}
