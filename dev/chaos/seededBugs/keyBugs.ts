import type { SeededBug } from './seededBug.ts';

const DECIDE = 'shared/domain/generations/decideCreates.sql';

/** Bugs in the options of keys, in estimates and in moderation. */
export const KEY_BUGS: readonly SeededBug[] = [
  {
    name: 'a key with the scope svc:read creates',
    changes: [
      {
        file: 'api/features/generations/endpoints.ts',
        find: "route: 'POST /api/generations/create/', policy: { needs: 'createGenerations', access: 'svc:write'",
        replace: "route: 'POST /api/generations/create/', policy: { needs: 'createGenerations', access: 'svc:read'",
      },
      { file: DECIDE, find: "'svc:write' <> ALL (k.scopes) OR ", replace: '' },
    ],
    foundBy: ['key-options-are-kept'],
  },
  {
    name: 'the allowed models of a key are checked only for estimates',
    changes: [
      {
        file: 'shared/domain/generations/create.ts',
        within: 'createGeneration',
        find: 'requireAllowedModel($caller, $input.model);',
        replace: 'void requireAllowedModel;',
      },
      { file: DECIDE, find: 'r.model <> ALL (k.allowed_models)', replace: 'false' },
    ],
    foundBy: ['key-options-are-kept'],
  },
  {
    name: 'the allowed addresses of a key are checked when it is changed, and not for its requests',
    changes: [
      {
        file: 'api/pipeline/runProgramRoute.ts',
        within: 'authorize',
        find: 'requireAllowedAddress($caller);',
        replace: 'void requireAllowedAddress;',
      },
      {
        file: DECIDE,
        find: 'OR (r.address <<= ANY (k.allowed_ips)) IS NOT TRUE AND k.allowed_ips IS NOT NULL',
        replace: '',
      },
    ],
    foundBy: ['key-options-are-kept'],
  },
  {
    name: 'an expired key creates until it is revoked',
    changes: [
      {
        file: 'shared/domain/accounts/credentials.ts',
        within: 'buildKeyCaller',
        find: 'if ($owner.options?.hasExpired === true) throw keyExpiredError($owner.options.expiresAt);',
        replace: 'void keyExpiredError;',
      },
      { file: DECIDE, find: 'AND (k.expires_at IS NULL OR k.expires_at > p_now)', replace: '' },
    ],
    foundBy: ['expired-key-is-rejected'],
  },
  {
    name: 'estimates remember the price of a model, whatever the parameters are',
    changes: [
      {
        file: 'shared/domain/generations/estimate.ts',
        within: 'estimateGeneration',
        find: 'const credits = priceRequest($caller, $input);',
        replace: 'const credits = (pricesByModel[model] ??= priceRequest(caller, input));',
      },
      {
        file: 'shared/domain/generations/estimate.ts',
        find: 'async function findRejection(',
        replace: 'const pricesByModel: Record<string, number> = {};\n\nasync function findRejection(',
      },
    ],
    foundBy: ['estimate-is-the-price'],
  },
  {
    name: 'content without a decision of the moderation service is accepted, although it must be rejected',
    changes: [
      {
        file: 'shared/domain/generations/requestChecks.ts',
        within: 'moderate',
        find: "$verdict === null && config.MODERATION_ON_ERROR === 'reject'",
        replace: "$verdict === null && config.MODERATION_ON_ERROR !== 'reject'",
      },
    ],
    foundBy: ['created-content-was-allowed'],
  },
];
