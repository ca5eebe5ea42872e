/** Pages of the account area, in the order of its navigation. */
export const ACCOUNT_PAGES = [
  ['/account/', 'Overview'],
  ['/account/library/', 'Library'],
  ['/account/usage/', 'Usage'],
  ['/account/ledger/', 'Ledger'],
  ['/account/billing/', 'Billing'],
  ['/account/keys/', 'API keys'],
  ['/account/webhooks/', 'Webhooks'],
  ['/account/connect/', 'Connect'],
  ['/account/applications/', 'Applications'],
  ['/account/affiliate/', 'Affiliate'],
  ['/account/settings/', 'Settings'],
] as const;

export type AccountPagePath = (typeof ACCOUNT_PAGES)[number][0];
