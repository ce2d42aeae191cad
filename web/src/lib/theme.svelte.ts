// Light or dark: as the system says, unless somebody says otherwise here.

export type Theme = 'system' | 'light' | 'dark';

const KEY = 'theme';

function kept(): Theme {
  try {
    const said = localStorage.getItem(KEY);
    return said === 'light' || said === 'dark' ? said : 'system';
  } catch {
    return 'system';
  }
}

let now = $state<Theme>(kept());

function apply(): void {
  if (now === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = now;
  // The bar around an installed page follows the theme that was chosen here, and else the system.
  const grounds = { light: '#f7f6f3', dark: '#131412' };
  for (const meta of document.querySelectorAll<HTMLMetaElement>('meta[name=theme-color]')) {
    meta.content = grounds[now === 'system' ? (meta.media.includes('dark') ? 'dark' : 'light') : now];
  }
}
apply();

export const theme = {
  get now(): Theme {
    return now;
  },
  set(to: Theme): void {
    now = to;
    apply();
    try {
      if (to === 'system') localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, to);
    } catch {
      // A browser that keeps nothing follows the system.
    }
  },
  next(): void {
    theme.set(now === 'system' ? 'dark' : now === 'dark' ? 'light' : 'system');
  },
};
