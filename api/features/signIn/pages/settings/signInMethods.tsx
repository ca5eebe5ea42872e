import type { VNode } from 'preact';
import type { SignInProblem } from '../../../../../shared/domain/signIn/signIn.ts';
import { canSignIn } from '../../../../../shared/domain/signIn/identities.ts';
import {
  PROVIDER_NAMES,
  type ProviderName,
  getIdentityProviders,
} from '../../../../../shared/gateways/identity/index.ts';
import type { Identity } from '../../../../../shared/tables/Identity.ts';
import { getBrand } from '../../../../web/brand.ts';
import { PROVIDER_TITLES } from '../../../../web/components/providerLogos.tsx';
import { Form } from '../../../../web/components/form.tsx';
import { formatDate } from '../../../../web/components/formatTime.ts';

interface SignInMethodsProps {
  identities: Identity[];
  csrfToken: string;
}

/** Linked identities of the account, with forms to link and remove one. */
export function SignInMethodsSection({ identities, csrfToken }: SignInMethodsProps): VNode {
  const usable = identities.filter(canSignIn);
  const offered = PROVIDER_NAMES.filter(
    (name) => getIdentityProviders()[name] !== null && !usable.some(({ provider }) => provider === name),
  );
  return (
    <section class="card" aria-labelledby="sign-in-methods">
      <h2 id="sign-in-methods">Sign-in methods</h2>
      {identities.length === 0 ? (
        <p class="quiet">
          You signed in with local sign-in. Sign-in methods appear here when you sign in with a provider.
        </p>
      ) : (
        <ul class="rows">
          {identities.map((identity) => (
            <li>
              <div class="what">
                <h3>{getIdentityTitle(identity)}</h3>
                <span class="quiet small">
                  {identity.email}, linked on {formatDate(identity.created_at)}
                </span>
              </div>
              {usable.some((other) => other !== identity) ? (
                <a
                  class="button slight danger"
                  href={`/account/identities/${identity.uuid}/remove/`}
                  aria-label={`Remove ${getIdentityTitle(identity)} as a sign-in method`}
                >
                  Remove
                </a>
              ) : null}
            </li>
          ))}
        </ul>
      )}
      {identities.length === 0 || offered.length === 0 ? null : (
        <div class="buttons">
          {offered.map((name) => (
            <Form action={`/account/identities/${name}/link/`} token={csrfToken}>
              <button type="submit">{`Link ${PROVIDER_TITLES[name]}`}</button>
            </Form>
          ))}
        </div>
      )}
    </section>
  );
}

const LINK_PROBLEMS: Record<Exclude<SignInProblem, 'taken' | 'other_provider'>, (title: string) => string> = {
  denied: (title) => `${title} was not linked because you canceled the sign-in.`,
  expired: (title) => `${title} was not linked because the sign-in expired or your session ended. Please start again.`,
  rejected: (title) => `${title} was not linked because the sign-in failed. Please start again.`,
  unavailable: (title) => `${title} is not responding at the moment. Try again in a minute.`,
  unverified: (title) => `${title} has not verified your e-mail address. Verify it there, then link it again.`,
  identity_in_use: (title) =>
    `This ${title} account is linked to another ${getBrand().name} account. Remove it there first, then link it to this one.`,
  provider_linked: (title) =>
    `Another ${title} account is already linked. Remove that one first, then link the new one.`,
};

/** Returns the message for the problem code in the URL, or undefined. */
export function describeLinkProblem(problem: unknown, provider: unknown): string | undefined {
  const name = PROVIDER_NAMES.find((known) => known === provider);
  if (name === undefined || typeof problem !== 'string' || !Object.hasOwn(LINK_PROBLEMS, problem)) return undefined;
  return LINK_PROBLEMS[problem as keyof typeof LINK_PROBLEMS](PROVIDER_TITLES[name]);
}

export function getIdentityTitle({ provider }: Identity): string {
  return PROVIDER_TITLES[provider as ProviderName] ?? provider;
}
