import { getAccount } from '../../../shared/domain/accounts/accounts.ts';
import { isDeletionRequested } from '../../../shared/domain/privacy/deletion.ts';
import { issueCode } from '../../../shared/domain/oauth/authorizationCodes.ts';
import { getOfferedLimit } from '../../../shared/domain/oauth/applicationLimits.ts';
import { recordApprovalRequest } from '../../../shared/domain/oauth/clients.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import type { CreditLimit } from '../../../shared/presenters/spendingLimit.ts';
import { OAuthError } from '../../../shared/spec/oauth.ts';
import { type Context, requireCaller } from '../../context.ts';
import { endCurrentSession } from '../../pipeline/cookies/sessionCookie.ts';
import { getForm } from '../../pipeline/body.ts';
import { getRequestOrigin } from '../../pipeline/requestOrigin.ts';
import { seeOther } from '../../pipeline/redirect.ts';
import { parseParameters } from '../parameters.ts';
import { nameCurrentAccount } from '../../web/components/accountSwitch.tsx';
import { limitForm } from '../../web/components/spendingLimit.tsx';
import { DELETION_PATH } from '../../features/privacy/pages/deletion/paths.ts';
import { withRejectedForm } from '../../web/rejectedForm.ts';
import { sendConsentPage } from './pages.tsx';
import {
  redirectToSignInFirst,
  sendCodeToClient,
  sendDenialToClient,
  sendErrorToClient,
  sendErrorToUser,
} from './responses.ts';
import {
  type AuthorizationRequest,
  type ClientContext,
  parsePrompts,
  readResource,
  readState,
  validateClient,
  validatePkce,
  validateRedirectUri,
  validateResponseType,
  validateScopes,
} from './validateRequest.ts';

/** `GET /authorize` (RFC 6749, 4.1.1): asks the signed-in user to approve a client's access. */
export async function showConsent(ctx: Context): Promise<void> {
  // Before validation: visitors without a session must not cause fetches of metadata documents, or redirects.
  if (ctx.state.caller === undefined) return redirectToSignInFirst(ctx);
  const request = await validateRequest(ctx);
  if (request === undefined) return;
  const isSilent = request.prompts.includes('none');
  if (await isDeletionRequested(requireCaller(ctx).accountId)) {
    if (!isSilent) return seeOther(ctx, DELETION_PATH);
    const description = 'The account is being deleted. Its owner must undo that first.';
    return sendErrorToClient(ctx, request, new OAuthError('interaction_required', description));
  }
  if (isSilent) {
    const description = 'Consent is required every time, because any program can use this client_id.';
    return sendErrorToClient(ctx, request, new OAuthError('consent_required', description));
  }
  await recordApprovalRequest(request.client);
  sendConsentPage(ctx, await loadConsentPage(ctx, request));
}

async function loadConsentPage(ctx: Context, request: AuthorizationRequest) {
  const { accountId } = requireCaller(ctx);
  const [name, { balance }, offered] = await Promise.all([
    nameCurrentAccount(ctx),
    getAccount(accountId),
    getOfferedLimit(accountId, request.client.client_id),
  ]);
  return { request, account: { name, balance }, offered };
}

/** Returns whether the user submits the decision that gives a client access. */
export function allowsAccess(ctx: Context): boolean {
  return getForm(ctx).get('decision') === 'allow';
}

/** `POST /authorize`: handles the decision that the user submitted on the consent page. */
export async function submitConsent(ctx: Context): Promise<void> {
  // The session may have ended while the page was open.
  if (ctx.state.caller === undefined) return redirectToSignInFirst(ctx);
  const request = await validateRequest(ctx);
  if (request === undefined) return;
  switch (getForm(ctx).get('decision')) {
    case 'allow':
      return approve(ctx, request);
    case 'deny':
      return sendDenialToClient(ctx, request);
    case 'switch':
      await endCurrentSession(ctx);
      return redirectToSignInFirst(ctx);
    default:
      throw new ServiceError('validation_error', 'No decision was submitted. Go back and choose Allow or Deny.');
  }
}

/** Validates the request in the query. @returns undefined for an invalid request, whose response has been sent. */
async function validateRequest(ctx: Context): Promise<AuthorizationRequest | undefined> {
  const query = new URLSearchParams(ctx.querystring);
  let context: ClientContext | undefined;
  try {
    const client = await validateClient(query, ctx.state.caller?.accountId);
    context = { client, redirectUri: validateRedirectUri(query, client), state: readState(query) };
    const parameters = parseParameters(query);
    validateResponseType(parameters);
    const scopes = validateScopes(parameters);
    const codeChallenge = validatePkce(parameters);
    const resource = readResource(parameters);
    return { ...context, resource, scopes, codeChallenge, prompts: parsePrompts(parameters) };
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    if (context === undefined) return sendErrorToUser(ctx, error);
    sendErrorToClient(ctx, context, error);
    return undefined;
  }
}

async function approve(ctx: Context, request: AuthorizationRequest): Promise<void> {
  const { client, resource, scopes, redirectUri, codeChallenge } = request;
  const caller = requireCaller(ctx);
  const { accountId } = caller;
  const form = getForm(ctx);
  let limit: CreditLimit | null | undefined;
  try {
    ({ limit } = limitForm.read(form));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const page = { ...(await loadConsentPage(ctx, request)), problem: error.message };
    const rejection = { path: ctx.path, form, field: error.field, message: error.message };
    return withRejectedForm(rejection, () => sendConsentPage(ctx, page));
  }
  const approvedRequest = {
    accountId,
    clientId: client.client_id,
    resource,
    scopes,
    redirectUri,
    codeChallenge,
    limit,
  };
  const issued = issueCode(approvedRequest, { origin: getRequestOrigin(ctx), caller });
  const code = await issued.catch((error: unknown) => sendErrorToUser(ctx, error));
  if (code === undefined) return;
  sendCodeToClient(ctx, request, code);
}
