// One folder of a long list of paths.

export type Entry = { name: string; folder: boolean; path: string };

const slashed = (path: string) => path.replace(/\/*$/, '/');

/** What stands directly in a folder: folders first, then files, each once. */
export function inside(root: string, paths: string[], folder: string): Entry[] {
  const base = slashed(root);
  const seen = new Map<string, Entry>();
  for (const path of paths) {
    const below = path.startsWith(base) ? path.slice(base.length) : path;
    if (!below.startsWith(folder)) continue;
    const rest = below.slice(folder.length);
    const end = rest.indexOf('/');
    const name = end === -1 ? rest : rest.slice(0, end);
    if (name && !seen.has(name)) seen.set(name, { name, folder: end !== -1, path: base + folder + name });
  }
  return [...seen.values()].sort((a, b) => Number(b.folder) - Number(a.folder) || a.name.localeCompare(b.name, undefined, { numeric: true }));
}

/** Where a place stands below a root, as `a/b/`, and empty for the root itself; null where it stands elsewhere. */
export function below(root: string, place: string): string | null {
  const [base, full] = [slashed(root), slashed(place)];
  return full.startsWith(base) && !full.split('/').includes('..') ? full.slice(base.length) : null;
}
