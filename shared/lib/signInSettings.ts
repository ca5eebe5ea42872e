import { createPrivateKey } from 'node:crypto';

/** Variables of each sign-in provider: all of them must be set, or none. */
const PROVIDER_VARIABLES = {
  Google: ['GOOGLE_CLIENT_ID', 'GOOGLE_CLIENT_SECRET'],
  Apple: ['APPLE_CLIENT_ID', 'APPLE_TEAM_ID', 'APPLE_KEY_ID', 'APPLE_PRIVATE_KEY'],
  GitHub: ['GITHUB_CLIENT_ID', 'GITHUB_CLIENT_SECRET'],
} as const;

/** Variables with the addresses of the providers. */
const PROVIDER_URL_VARIABLES = ['GOOGLE_ISSUER', 'APPLE_ISSUER', 'GITHUB_BASE_URL', 'GITHUB_API_BASE_URL'] as const;

type ProviderVariable = (typeof PROVIDER_VARIABLES)[keyof typeof PROVIDER_VARIABLES][number];
export type SignInSettings = { NODE_ENV: string } & Partial<Record<ProviderVariable, string>> &
  Record<(typeof PROVIDER_URL_VARIABLES)[number], string>;

/** Returns the problem with the settings of the sign-in providers as a sentence that names a variable, or undefined. */
export function validateSignInSettings(values: SignInSettings): string | undefined {
  const isProduction = values.NODE_ENV === 'production';
  const isSet = (name: ProviderVariable) => values[name] !== undefined;
  for (const [provider, parts] of Object.entries(PROVIDER_VARIABLES)) {
    const missing = parts.filter((name) => !isSet(name));
    if (missing.length === 0 || missing.length === parts.length) continue;
    return `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} not set, but the other variables for sign-in with ${provider} are.`;
  }
  if (values.APPLE_PRIVATE_KEY !== undefined && !isApplePrivateKey(values.APPLE_PRIVATE_KEY)) {
    return 'APPLE_PRIVATE_KEY must be the text of the .p8 file from Apple, with \\n in the place of its line breaks.';
  }
  if (isProduction && !Object.values(PROVIDER_VARIABLES).some((parts) => parts.some(isSet))) {
    return 'GOOGLE_CLIENT_ID, APPLE_CLIENT_ID and GITHUB_CLIENT_ID are not set: NODE_ENV=production needs a sign-in provider.';
  }
  const plain = PROVIDER_URL_VARIABLES.find((name) => isProduction && !values[name].startsWith('https:'));
  return plain && `${plain} must begin with https:// with NODE_ENV=production.`;
}

/**
 * Returns true if sign-in by e-mail address alone is offered: outside production, as long as no provider is configured.
 */
export function isDevSignInAllowed(values: SignInSettings): boolean {
  return (
    values.NODE_ENV !== 'production' &&
    Object.values(PROVIDER_VARIABLES).every((parts) => values[parts[0]] === undefined)
  );
}

/** Restores the line breaks of a key: environment variables rarely hold them, so they are written as \n. */
export function unescapeLineBreaks(pem: string): string {
  return pem.replaceAll('\\n', '\n');
}

function isApplePrivateKey(pem: string): boolean {
  try {
    const key = createPrivateKey(unescapeLineBreaks(pem));
    return key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1';
  } catch {
    return false;
  }
}
