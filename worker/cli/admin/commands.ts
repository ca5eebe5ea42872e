import { STUCK_AFTER_SECONDS } from '../../../shared/spec/staff.ts';
import type { Command } from './command.ts';

/** Reason of a change, for the audit log. */
const REASON_OPTION = { '--reason <text>': 'reason, for the audit log' };
const IDLE_OPTION = { '--idle <seconds>': `seconds without activity (default: ${STUCK_AFTER_SECONDS})` };

/** Commands of `npm run admin`, by name. An `<account>` is an e-mail address, a UUID or an account number. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  'find-account': {
    summary: 'Show an account with its credits, keys and latest ledger entries',
    args: '<account>',
    details: 'The account is an e-mail address, a UUID, or the account number in the logs. Changes nothing.',
    options: {},
    isMutating: false,
    load: async () => (await import('./commands/findAccount.ts')).findAccount,
  },
  'grant-credits': {
    summary: 'Grant credits to an account, once per --request',
    args: '<account> <credits>',
    details:
      'The credits do not expire at the end of the month. The ledger entry is called "Goodwill credits", followed by the\n' +
      'note. Repeating the command with the same --request, such as a ticket number, grants nothing more.',
    options: {
      '--request <name>': 'identifies this grant: 1 to 100 letters, digits, and . _ - # (required)',
      '--note <text>': 'reason; visible to the customer',
    },
    isMutating: true,
    load: async () => (await import('./commands/grantCredits.ts')).grantCredits,
  },
  'create-gift-code': {
    summary: 'Create a gift code, which is shown once',
    args: '<credits>',
    details: 'Customers redeem it once each, on the billing page, over the API or with genmeter redeem.',
    options: {
      '--uses <count>': 'number of accounts that may redeem it (default: 1)',
      '--expires <time>': 'time from which it cannot be redeemed (default: never)',
      '--reason <text>': 'what it is for, for staff and the audit log (required)',
    },
    isMutating: true,
    load: async () => (await import('./commands/giftCodes.ts')).createCode,
  },
  'list-gift-codes': {
    summary: 'List the newest gift codes',
    args: '',
    details: 'Shows what they are worth and how often they were redeemed. Changes nothing.',
    options: {},
    isMutating: false,
    load: async () => (await import('./commands/giftCodes.ts')).listCodes,
  },
  'revoke-gift-code': {
    summary: 'Revoke a gift code',
    args: '<uuid>',
    details: 'It cannot be redeemed any more. What was redeemed stays.',
    options: REASON_OPTION,
    isMutating: true,
    load: async () => (await import('./commands/giftCodes.ts')).revokeCode,
  },
  'list-stuck-generations': {
    summary: 'List generations without progress',
    args: '',
    details:
      'Lists generations that are queued, not leased by a worker, and without activity for a while, oldest first. They\n' +
      'include generations that wait for the rate limit of an upstream. Changes nothing.',
    options: { ...IDLE_OPTION, '--limit <count>': 'maximum number of generations (default: 50)' },
    isMutating: false,
    load: async () => (await import('./commands/stuckGenerations.ts')).listStuckGenerations,
  },
  'requeue-generations': {
    summary: 'Enqueue stuck generations again',
    args: '[uuids...]',
    details:
      'Specify UUIDs or --all. Generations that a worker holds or that have ended are skipped, so nothing is submitted or\n' +
      'charged twice.',
    options: { '--all': 'all stuck generations', ...IDLE_OPTION, ...REASON_OPTION },
    isMutating: true,
    load: async () => (await import('./commands/stuckGenerations.ts')).requeueStuckGenerations,
  },
  'list-tasks': {
    summary: 'List tasks that fail or were given up',
    args: '[kind]',
    details: 'Of all kinds, or of one such as payment.event, with the last error. Changes nothing.',
    options: { '--limit <count>': 'largest number of tasks (default: 50)' },
    isMutating: false,
    load: async () => (await import('./commands/tasks.ts')).listTasks,
  },
  'run-tasks': {
    summary: 'Run tasks that fail or were given up now',
    args: '<kind> [key]',
    details:
      'All tasks of the kind, or the one of a key. Tasks that a worker runs are left alone. Those that fail again are\n' +
      'repeated or given up as before.',
    options: REASON_OPTION,
    isMutating: true,
    load: async () => (await import('./commands/tasks.ts')).runTasks,
  },
  'try-upstream': {
    summary: 'Send one run to an upstream, and follow it to its file',
    args: '<upstream:model>',
    details:
      'Prints each request and response, with *** in the place of keys. The run belongs to no account; the provider charges\n' +
      'for it. Without a model of the catalog that uses the upstream, choose --kind, and --params for its input.',
    options: {
      '--prompt <text>': 'the prompt (required)',
      '--params <json>': 'parameters (default: those of an example request of the model)',
      '--image <role=file...>': 'images of the input, such as first_frame=start.png',
      '--kind <kind>': 'image or video (default: that of the model)',
      '--output <file>': 'where to write the file (default: it is deleted)',
      '--timeout <minutes>': 'time for the run (default: 10)',
    },
    isMutating: false,
    dryRun: 'only show the request',
    kind: 'trial',
    load: async () => (await import('./commands/tryUpstream.ts')).tryConfiguredUpstream,
  },
  'refund-generation': {
    summary: 'Refund a generation that succeeded',
    args: '<uuid>',
    details:
      'Returns its credits to the buckets that paid, once. The output stays. Failed generations are refunded when they end.',
    options: { '--reason <text>': 'why, for the audit log; no personal data (required)' },
    isMutating: true,
    load: async () => (await import('./commands/refundGeneration.ts')).refundGenerationByCommand,
  },
  'revoke-key': {
    summary: 'Revoke an API key permanently',
    args: '<key>',
    details: 'The key is a UUID, the first 12 characters, or the whole key. If several keys match, they are listed.',
    options: REASON_OPTION,
    isMutating: true,
    load: async () => (await import('./commands/revokeKey.ts')).revokeKey,
  },
  'revoke-access': {
    summary: 'Revoke all sessions, keys, grants and invitations of an account, and disable its webhook endpoints',
    args: '<account>',
    details: 'For an account that was taken over. The owner and the other members can sign in again.',
    options: REASON_OPTION,
    isMutating: true,
    load: async () => (await import('./commands/accountData.ts')).revokeAllAccess,
  },
  'suspend-account': {
    summary: 'Suspend an account: reject all of its credentials until it is reinstated',
    args: '<account>',
    details:
      'Effective at once on all processes. Sessions end; API keys and applications are rejected with 403\n' +
      'account_suspended. Generations in progress finish, and automatic top-ups stop. The subscription continues at\n' +
      'Stripe.',
    options: { '--reason <text>': 'why, for the audit log; no personal data (required)' },
    isMutating: true,
    load: async () => (await import('./commands/suspension.ts')).suspend,
  },
  'reinstate-account': {
    summary: 'Reinstate a suspended account',
    args: '<account>',
    details: 'Its API keys and applications work again, and its owner can sign in.',
    options: { '--reason <text>': 'why, for the audit log; no personal data (required)' },
    isMutating: true,
    load: async () => (await import('./commands/suspension.ts')).reinstate,
  },
  'remove-identity': {
    summary: 'Remove a sign-in method from an account, including the last one',
    args: '<account> <provider>',
    details:
      'The provider is google, apple or github. For an owner who has lost the provider account. Without any sign-in\n' +
      'method, the next sign-in with the verified address of the account opens it: remove the last one only after you\n' +
      'have verified the identity of the owner.',
    options: REASON_OPTION,
    isMutating: true,
    load: async () => (await import('./commands/accountData.ts')).removeSignInMethod,
  },
  'export-account': {
    summary: 'Print the stored data of an account as JSON',
    args: '<account>',
    details: 'Omits hashes and secrets. Changes nothing but the audit log.',
    options: REASON_OPTION,
    isMutating: false,
    load: async () => (await import('./commands/accountData.ts')).exportAccountData,
  },
  'erase-account': {
    summary: 'Erase the personal data of an account permanently',
    args: '<account>',
    details:
      'Revokes all access and removes sign-in methods, profile, prompts and media. The ledger and payments stay. Rejected\n' +
      'while a paid subscription would renew or generations are in progress. If it is interrupted, repeat it by UUID.',
    options: REASON_OPTION,
    isMutating: true,
    load: async () => (await import('./commands/accountData.ts')).eraseAccountData,
  },
};
