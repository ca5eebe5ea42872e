import { ClientSecretPost } from 'openid-client';
import { openIdProvider } from './openIdConnect.ts';
import type { IdentityProvider } from './identityProvider.ts';

export interface GoogleSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
}

/** Google, or any other provider of OpenID Connect at its issuer's address. */
export function googleProvider({ issuer, clientId, clientSecret }: GoogleSettings): IdentityProvider {
  return openIdProvider({
    issuer,
    clientId,
    authentication: ClientSecretPost(clientSecret),
    parameters: { scope: 'openid email profile' },
  });
}
