import { listIdentities, removeIdentity } from '../../../../../shared/domain/signIn/identities.ts';
import { startSignIn, type SignInProblem } from '../../../../../shared/domain/signIn/signIn.ts';
import { PROVIDER_NAMES, type ProviderName } from '../../../../../shared/gateways/identity/index.ts';
import { ServiceError } from '../../../../../shared/spec/errors.ts';
import { requirePerson, type Context } from '../../../../context.ts';
import { ensureSignInState } from '../../../../pipeline/cookies/signInStateCookie.ts';
import { getRequestOrigin } from '../../../../pipeline/requestOrigin.ts';
import { getPathParam, parseUuidParam } from '../../../../pipeline/requestParameters.ts';
import { defineAccountAction } from '../../../../web/components/accountAction.tsx';
import { PROVIDER_TITLES } from '../../../../web/components/providerLogos.tsx';
import { sendRedirectPage } from '../../../../web/components/redirectPage.tsx';
import { seeOther } from '../../../../pipeline/redirect.ts';
import { buildOutcomePath, SETTINGS_PATH } from './outcomes.ts';
import { getIdentityTitle } from './signInMethods.tsx';
import { METHODS as t } from './texts.ts';
import { withSettingsErrors } from './view.tsx';

/** Builds the path of the settings page with the reason why an identity could not be linked. */
export function buildLinkProblemPath(provider: ProviderName, problem: SignInProblem): string {
  return `${SETTINGS_PATH}?${new URLSearchParams({ link_problem: problem, provider }).toString()}`;
}

/**
 * Starts a sign-in that links an identity to the caller's account. It requires a form with the CSRF token, so that
 * another site cannot link an identity of its choice.
 */
export async function startIdentityLink(ctx: Context): Promise<void> {
  const provider = parseProviderParam(ctx);
  const request = { returnTo: buildOutcomePath('identity-linked'), linkingToken: ctx.state.sessionToken as string };
  const attempt = await startSignIn(provider, ensureSignInState(ctx, provider), request);
  if (attempt.problem !== null) return seeOther(ctx, buildLinkProblemPath(provider, attempt.problem));
  // A page instead of a redirect: browsers check redirects after a form against the form-action policy.
  sendRedirectPage(ctx, attempt.address, t.signInToLink({ provider: PROVIDER_TITLES[provider] }));
}

export const removeSignInMethod = defineAccountAction({
  withErrors: withSettingsErrors,
  describe: async (ctx) => {
    const uuid = parseUuidParam(ctx);
    const { id } = requirePerson(ctx);
    const identity = (await listIdentities(id)).find((linked) => linked.uuid === uuid);
    if (identity === undefined) throw new ServiceError('not_found', 'Not found. This sign-in method is not linked.');
    const title = getIdentityTitle(identity);
    return {
      question: t.removeQuestion({ method: title }),
      consequences: <p>{t.removeEffect({ method: title, email: identity.email })}</p>,
      button: t.removeButton({ method: title }),
      returnPath: SETTINGS_PATH,
    };
  },
  perform: async (ctx) => {
    await removeIdentity(requirePerson(ctx).id, parseUuidParam(ctx), {
      currentToken: ctx.state.sessionToken as string,
      origin: getRequestOrigin(ctx),
    });
    return buildOutcomePath('identity-removed');
  },
});

/** @throws ServiceError not_found */
export function parseProviderParam(ctx: Context): ProviderName {
  const provider = getPathParam(ctx, 'provider');
  const known = PROVIDER_NAMES.find((name) => name === provider);
  if (known === undefined) throw new ServiceError('not_found', 'Not found. This sign-in method is not available.');
  return known;
}
