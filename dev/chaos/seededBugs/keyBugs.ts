import type { SeededBug } from './seededBug.ts';

const DECIDE = 'shared/domain/generations/decideCreates.sql';

/** Bugs in the options of keys, in estimates and in moderation. */
export const KEY_BUGS: readonly SeededBug[] = [
  {
    name: 'a key with the scope svc:read creates',
    changes: [
      {
        file: 'api/router.ts',
        find: "'create', 'json', generations.create, 'svc:write'",
        replace: "'create', 'json', generations.create, 'svc:read'",
      },
    ],
    foundBy: ['key-options-are-kept'],
  },
  {
    name: 'the charge does not compare the version of the key: other processes keep its former options',
    changes: [
      {
        file: DECIDE,
        find: 'AND k.version = r.key_version',
        replace: '',
      },
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
    ],
    foundBy: ['key-options-are-kept'],
  },
  {
    name: 'the allowed addresses of a key are checked when it is changed, and not for its requests',
    changes: [
      {
        file: 'api/pipeline/authorize.ts',
        within: 'authorize',
        find: 'requireAllowedAddress($caller, $ctx.ip);',
        replace: 'void requireAllowedAddress;',
      },
    ],
    foundBy: ['key-options-are-kept'],
  },
  {
    name: 'a revoked key creates at processes that remember it',
    changes: [
      {
        file: DECIDE,
        find: 'AND k.revoked_at IS NULL',
        replace: '',
      },
    ],
    foundBy: ['revoked-key-is-rejected'],
  },
  {
    name: 'an expired key creates until it is revoked',
    changes: [
      {
        file: DECIDE,
        find: 'AND (k.expires_at IS NULL OR k.expires_at > p_now)',
        replace: '',
      },
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
