import js from '@eslint/js';
import svelte from 'eslint-plugin-svelte';
import globals from 'globals';
import ts from 'typescript-eslint';

export default ts.config(
  { ignores: ['dist/', 'src/generated/', 'screenshots/'] },
  js.configs.recommended,
  ...ts.configs.strict,
  ...svelte.configs.recommended,
  { languageOptions: { globals: { ...globals.browser, ...globals.node } } },
  {
    files: ['**/*.svelte', '**/*.svelte.ts'],
    languageOptions: { parserOptions: { parser: ts.parser } },
  },
  {
    rules: {
      // Text of others is never markup.
      'svelte/no-at-html-tags': 'error',
      // The CSP refuses style attributes; `style:` sets properties, which it does not.
      'no-restricted-syntax': ['error', { selector: 'SvelteAttribute[key.name="style"]', message: 'use a class or style:' }],
      // A space at the end of a line is written as one.
      'svelte/no-useless-mustaches': 'off',
      // Maps and dates that live in one computation need not be watched.
      'svelte/prefer-svelte-reactivity': 'off',
      'no-control-regex': 'off',
      'no-restricted-properties': [
        'error',
        { property: 'innerHTML', message: 'text of others is never markup' },
        { property: 'outerHTML', message: 'text of others is never markup' },
        { property: 'insertAdjacentHTML', message: 'text of others is never markup' },
      ],
      'svelte/no-navigation-without-resolve': 'off',
    },
  },
);
