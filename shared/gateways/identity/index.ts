import { config } from '../../lib/config.ts';
import { perService } from '../../lib/serviceScope.ts';
import { appleProvider } from './apple.ts';
import { gitHubProvider } from './github.ts';
import { googleProvider } from './google.ts';
import type { IdentityProvider, ProviderName } from './identityProvider.ts';

/** Sign-in providers by name; null if not configured. */
export const getIdentityProviders = perService(
  (): Record<ProviderName, IdentityProvider | null> => ({
    google:
      config.GOOGLE_CLIENT_ID === undefined
        ? null
        : googleProvider({
            issuer: config.GOOGLE_ISSUER,
            clientId: config.GOOGLE_CLIENT_ID,
            clientSecret: config.GOOGLE_CLIENT_SECRET as string,
          }),
    apple:
      config.APPLE_CLIENT_ID === undefined
        ? null
        : appleProvider({
            issuer: config.APPLE_ISSUER,
            clientId: config.APPLE_CLIENT_ID,
            appId: config.APPLE_APP_ID,
            teamId: config.APPLE_TEAM_ID as string,
            keyId: config.APPLE_KEY_ID as string,
            privateKey: config.APPLE_PRIVATE_KEY as string,
          }),
    github:
      config.GITHUB_CLIENT_ID === undefined
        ? null
        : gitHubProvider({
            baseUrl: config.GITHUB_BASE_URL.replace(/\/+$/, ''),
            apiBaseUrl: config.GITHUB_API_BASE_URL.replace(/\/+$/, ''),
            clientId: config.GITHUB_CLIENT_ID,
            clientSecret: config.GITHUB_CLIENT_SECRET as string,
          }),
  }),
);

/** Returns the issuer that scopes the subjects of a provider. Another issuer means other people. */
export function getIssuer(provider: ProviderName): string {
  const addresses = { google: config.GOOGLE_ISSUER, apple: config.APPLE_ISSUER, github: config.GITHUB_BASE_URL };
  return addresses[provider].replace(/\/+$/, '');
}

export { IdentityError, PROVIDER_NAMES } from './identityProvider.ts';
export type {
  IdentityNotification,
  IdentityProvider,
  ProviderIdentity,
  ProviderName,
  SignInSecrets,
} from './identityProvider.ts';
