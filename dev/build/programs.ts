/** The programs of a deployment, by the name of their bundle. */
export const PROGRAMS = {
  api: 'api/main.ts',
  worker: 'worker/main.ts',
  release: 'migrations/main.ts',
  admin: 'worker/cli/admin/main.ts',
  check: 'worker/cli/check/main.ts',
  rotateKeys: 'api/oauth/rotateKeys.ts',
  sampleUpstream: 'dev/sampleUpstream/main.ts',
};

/** Files and folders that programs read at run time, from beside their own file. */
export const ASSETS = [
  'api/web/styles',
  'api/web/scripts',
  'api/mcp/apps/page',
  'shared/domain/credits/lockAccounts.sql',
  'shared/domain/generations/decideCreates.sql',
  'shared/domain/generations/chargeGenerations.sql',
  'shared/domain/generations/execution/completeGenerations.sql',
  'shared/domain/generations/execution/failGenerations.sql',
  'shared/domain/generations/execution/cancelGeneration.sql',
];
