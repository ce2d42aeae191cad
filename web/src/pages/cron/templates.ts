// Jobs that people often want, as a start for the form of a new one.

import { t } from '../../lib/i18n';
import type { Form } from '../../lib/jobs';

export type Template = { id: string; name: string; task: string; mode: 'task' | 'systemEvent'; icon: string; when: Partial<Form> };

export const TEMPLATES: Template[] = [
  { id: 'morning', name: t('jobs.tpl_morning'), task: t('jobs.tpl_morningTask'), mode: 'task', icon: 'sun', when: { kind: 'cron', expr: '0 8 * * 1-5' } },
  { id: 'weekly', name: t('jobs.tpl_weekly'), task: t('jobs.tpl_weeklyTask'), mode: 'task', icon: 'list', when: { kind: 'cron', expr: '0 16 * * 5' } },
  { id: 'check', name: t('jobs.tpl_check'), task: t('jobs.tpl_checkTask'), mode: 'task', icon: 'heart', when: { kind: 'every', steps: 1, unit: 'hours' } },
  { id: 'backup', name: t('jobs.tpl_backup'), task: t('jobs.tpl_backupTask'), mode: 'task', icon: 'shield', when: { kind: 'cron', expr: '30 7 * * *' } },
  { id: 'reminder', name: t('jobs.tpl_reminder'), task: t('jobs.tpl_reminderTask'), mode: 'systemEvent', icon: 'clock', when: { kind: 'at', at: 'in 2 hours' } },
];
