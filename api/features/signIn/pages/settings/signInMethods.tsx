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
import { Section } from '../../../../web/components/section.tsx';
import { LINK_PROBLEMS, METHODS as t } from './texts.ts';

/** Linked identities of the account, with forms to link and remove one. */
export function SignInMethodsSection({ identities }: { identities: Identity[] }): VNode {
  const usable = identities.filter(canSignIn);
  const offered = PROVIDER_NAMES.filter(
    (name) => getIdentityProviders()[name] !== null && !usable.some(({ provider }) => provider === name),
  );
  return (
    <Section id="sign-in-methods" title={t.methods()}>
      {identities.length === 0 ? (
        <p class="quiet">{t.local()}</p>
      ) : (
        <ul class="rows">
          {identities.map((identity) => (
            <li>
              <div class="what">
                <h3>{getIdentityTitle(identity)}</h3>
                <span class="quiet small">
                  {t.linkedOn({ email: identity.email, date: formatDate(identity.created_at) })}
                </span>
              </div>
              {usable.some((other) => other !== identity) ? (
                <a
                  class="button slight danger"
                  href={`/account/identities/${identity.uuid}/remove/`}
                  aria-label={t.removeMethod({ method: getIdentityTitle(identity) })}
                >
                  {t.remove()}
                </a>
              ) : null}
            </li>
          ))}
        </ul>
      )}
      {identities.length === 0 || offered.length === 0 ? null : (
        <div class="buttons">
          {offered.map((name) => (
            <Form action={`/account/identities/${name}/link/`}>
              <button type="submit">{t.link({ provider: PROVIDER_TITLES[name] })}</button>
            </Form>
          ))}
        </div>
      )}
    </Section>
  );
}

/** Problems of linking. Others are shown on the sign-in page. */
type LinkingProblem = Exclude<SignInProblem, 'taken' | 'other_provider'>;

/** Returns the message for the problem code in the URL, or undefined. */
export function describeLinkProblem(problem: unknown, provider: unknown): string | undefined {
  const name = PROVIDER_NAMES.find((known) => known === provider);
  if (name === undefined || typeof problem !== 'string' || !Object.hasOwn(LINK_PROBLEMS, problem)) return undefined;
  const values = { provider: PROVIDER_TITLES[name], brand: getBrand().name };
  return LINK_PROBLEMS[problem as LinkingProblem](values);
}

export function getIdentityTitle({ provider }: Identity): string {
  return PROVIDER_TITLES[provider as ProviderName] ?? provider;
}
