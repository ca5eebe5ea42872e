import { type Command, STUCK_AFTER_SECONDS } from './command.ts';

const quietOption = {
  type: 'string',
  about: `seconds without a sign of work on it; ${STUCK_AFTER_SECONDS} unless said`,
} as const;

/** Everything that `npm run admin` can do. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  'find-account': {
    summary: 'Show an account, its credits, keys and last ledger entries',
    usage: 'find-account <e-mail | uuid | number>',
    details: 'The number is what the logs call the account. Changes nothing.',
    options: {},
    argumentCount: [1, 1],
    isMutating: false,
    load: async () => (await import('./commands/findAccount.ts')).findAccount,
  },
  'grant-credits': {
    summary: 'Give an account credits, once for each --request',
    usage: 'grant-credits <e-mail | uuid | number> <credits> --request <name> [--note <text>] [--apply]',
    details:
      'The credits do not expire with the month. The ledger calls them "Goodwill credits", and says the note after it.\n' +
      'Repeated with the same --request, such as the number of a ticket, it grants nothing more.',
    options: {
      request: { type: 'string', about: 'names this grant: 1 to 100 letters, digits, and . _ - #' },
      note: { type: 'string', about: 'what for; the customer reads it' },
    },
    argumentCount: [2, 2],
    isMutating: true,
    load: async () => (await import('./commands/grantCredits.ts')).grantCredits,
  },
  'stuck-jobs': {
    summary: 'List generations that nothing happens to',
    usage: 'stuck-jobs [--quiet <seconds>] [--limit <count>]',
    details:
      "Those that are queued, in no worker's hands, and not looked at for a while, oldest first. Where an upstream's use\n" +
      'is limited, jobs that wait for their turn are among them. Changes nothing.',
    options: { quiet: quietOption, limit: { type: 'string', about: 'how many at most; 50 unless said' } },
    argumentCount: [0, 0],
    isMutating: false,
    load: async () => (await import('./commands/stuckGenerations.ts')).listStuckGenerations,
  },
  'requeue-jobs': {
    summary: 'Put stuck generations on their queue again',
    usage: 'requeue-jobs (<uuid>... | --all) [--quiet <seconds>] [--apply]',
    details: 'What a worker holds, or what has ended, is left alone: nothing is submitted twice, nobody charged again.',
    options: { all: { type: 'boolean', about: 'all that are stuck, however many' }, quiet: quietOption },
    argumentCount: [0, 1_000],
    isMutating: true,
    load: async () => (await import('./commands/stuckGenerations.ts')).requeueStuckGenerations,
  },
  'revoke-key': {
    summary: 'Revoke an API key, at once and for good',
    usage: 'revoke-key <uuid | first 12 characters | key> [--apply]',
    details: 'Several keys may begin alike: then they are listed, to be named by uuid.',
    options: {},
    argumentCount: [1, 1],
    isMutating: true,
    load: async () => (await import('./commands/revokeKey.ts')).revokeKey,
  },
  'end-access': {
    summary: 'End all sessions, API keys and application grants of an account',
    usage: 'end-access <e-mail | uuid | number> [--apply]',
    details: 'For an account that was taken over. Its owner can sign in again and create new keys.',
    options: {},
    argumentCount: [1, 1],
    isMutating: true,
    load: async () => (await import('./commands/accountData.ts')).endAccountAccess,
  },
  'remove-identity': {
    summary: 'Remove a sign-in method from an account, also the last one',
    usage: 'remove-identity <e-mail | uuid | number> <google | apple | github> [--apply]',
    details:
      'For an owner who has lost the provider account. Without any sign-in method, the next sign-in with the verified\n' +
      'address of the account opens it: remove the last one only when you know who asks.',
    options: {},
    argumentCount: [2, 2],
    isMutating: true,
    load: async () => (await import('./commands/accountData.ts')).removeSignInMethod,
  },
  'export-account': {
    summary: 'Print all that is stored about an account as JSON',
    usage: 'export-account <e-mail | uuid | number>',
    details: 'Without hashes and secrets. Changes nothing.',
    options: {},
    argumentCount: [1, 1],
    isMutating: false,
    load: async () => (await import('./commands/accountData.ts')).exportAccountData,
  },
  'erase-account': {
    summary: 'Erase the personal data of an account for good',
    usage: 'erase-account <e-mail | uuid | number> [--apply]',
    details:
      'Ends all access, removes sign-in methods, profile, prompts and media. The ledger and payments stay. Refused while\n' +
      'a paid subscription would renew or generations are in progress. Repeat it by uuid if it was interrupted.',
    options: {},
    argumentCount: [1, 1],
    isMutating: true,
    load: async () => (await import('./commands/accountData.ts')).eraseAccountData,
  },
};
