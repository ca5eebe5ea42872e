import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { PROBE_STALE_MS } from '../../spec/limits.ts';
import type { Caller } from '../accounts/accounts.ts';
import {
  type AutoTopupState,
  buildAutoTopupState,
  getAutoTopupBindings,
  JOIN_PENDING_TOPUP,
} from '../billing/autoTopupRule.ts';
import { grantDueMonths } from '../credits/renewDuePeriods.ts';
import { buildAdmissionRule, buildRejectionError, priceRequest, USABLE_MODELS } from './admission.ts';
import type { CreateInput, Rejection } from './debit.ts';

type CredentialRejection = 'invalid_api_key' | 'account_suspended';
/** A rejection that is not about the caller's credentials. */
export type RequestRejection = Exclude<Rejection, CredentialRejection>;

/** The decision about a create at this moment, and the account that it would charge. */
export interface Admission {
  outcome: RequestRejection | 'accepted' | 'replayed';
  /** Uuid of the account. */
  uuid: string;
  balance: number;
  /** State of the automatic top-ups for a create that the balance does not cover. */
  auto_topup: AutoTopupState;
}

type AdmissionRow = Omit<Admission, 'outcome'> & { outcome: Admission['outcome'] | CredentialRejection };

/** @param andIsGrantValid condition about the grant of the caller. */
const prepareReadAdmission = (name: string, andIsGrantValid: string) =>
  prepared(
    name,
    `WITH request AS (
     SELECT cast(:accountId AS bigint) AS account_id, cast(:model AS text) AS model,
            cast(:credits AS integer) AS credits, cast(:idempotencyKey AS text) AS idempotency_key,
            cast(:clientId AS text) AS oauth_client_id, k.number AS api_key_number,
            (cast(:keyHash AS bytea) IS NULL OR k.number IS NOT NULL)${andIsGrantValid} AS is_credential_valid
       FROM (VALUES (1)) AS one
       LEFT JOIN api_keys k
         ON k.key_hash = cast(:keyHash AS bytea) AND coalesce(k.test_account_id, k.account_id) = cast(:accountId AS bigint)
        AND k.revoked_at IS NULL AND k.version = :keyVersion AND (k.expires_at IS NULL OR k.expires_at > :now)
   ), usable AS (
     ${USABLE_MODELS}
   )
   SELECT ${buildAdmissionRule({ hasKeys: true, hasInputs: false, limits: 'read' })} AS outcome,
          a.uuid, a.balance, ${buildAutoTopupState('r.credits')} AS auto_topup
     FROM request r
     JOIN accounts a ON a.id = r.account_id ${JOIN_PENDING_TOPUP}
     LEFT JOIN usable ON usable.model = r.model
     LEFT JOIN generations first
       ON first.account_id = r.account_id AND first.idempotency_key = r.idempotency_key
     LEFT JOIN spending_limits l
       ON l.account_id = r.account_id AND (l.key_number = r.api_key_number OR l.client_id = r.oauth_client_id)`,
  );

const READ_ADMISSION = prepareReadAdmission('read_admission', '');
const READ_ADMISSION_BY_GRANT = prepareReadAdmission(
  'read_admission_by_grant',
  ` AND EXISTS (
              SELECT FROM oauth_grants g
               WHERE g.uuid = cast(:grantUuid AS uuid) AND g.account_id = cast(:accountId AS bigint)
                 AND g.revoked_at IS NULL)`,
);

/**
 * Decides about a request as the charge would decide now, by the same rule. Takes no lock and waits for none, so that the
 * decision may differ from that of a charge at the same time. Like a create, grants a month that is due before it rejects
 * for lack of credits.
 * @throws ServiceError invalid_api_key or account_suspended: the caller may not read the account.
 */
export async function readAdmission(
  caller: Caller,
  input: Pick<CreateInput, 'model' | 'params'>,
  idempotencyKey: string | null = null,
): Promise<Admission> {
  const admission = await readAdmissionNow(caller, input, idempotencyKey);
  if (admission.outcome !== 'insufficient_credits' || !(await grantDueMonths(caller.accountId))) return admission;
  return readAdmissionNow(caller, input, idempotencyKey);
}

async function readAdmissionNow(
  caller: Caller,
  input: Pick<CreateInput, 'model' | 'params'>,
  idempotencyKey: string | null,
): Promise<Admission> {
  const at = now();
  const { accountId, keyHash, keyVersion = 0, clientId, grantUuid } = caller;
  const credits = priceRequest(caller, input);
  const [row] = await runStatement<AdmissionRow>(grantUuid === undefined ? READ_ADMISSION : READ_ADMISSION_BY_GRANT, {
    accountId,
    keyHash,
    keyVersion,
    clientId,
    ...(grantUuid === undefined ? {} : { grantUuid }),
    model: input.model,
    credits,
    idempotencyKey,
    ...getAutoTopupBindings(at),
    stale: addMilliseconds(at, -PROBE_STALE_MS),
  });
  const outcome = row?.outcome ?? 'invalid_api_key';
  if (row === undefined || outcome === 'invalid_api_key' || outcome === 'account_suspended') {
    const rejection = outcome === 'account_suspended' ? outcome : 'invalid_api_key';
    throw await buildRejectionError(rejection, { model: input.model, credits }, caller);
  }
  return { ...row, outcome };
}
