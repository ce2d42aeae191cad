import { use } from '../../lib/i18n';

await use('nodes');
