import { createPrivateKey } from 'node:crypto';

/** What each sign-in provider needs: all of it, or none. */
const PROVIDER_VARIABLES = {
  Google: ['GOOGLE_CLIENT_ID', 'GOOGLE_CLIENT_SECRET'],
  Apple: ['APPLE_CLIENT_ID', 'APPLE_TEAM_ID', 'APPLE_KEY_ID', 'APPLE_PRIVATE_KEY'],
  GitHub: ['GITHUB_CLIENT_ID', 'GITHUB_CLIENT_SECRET'],
} as const;

/** Where they are reached. */
const PROVIDER_URL_VARIABLES = ['GOOGLE_ISSUER', 'APPLE_ISSUER', 'GITHUB_BASE_URL', 'GITHUB_API_BASE_URL'] as const;

type ProviderVariable = (typeof PROVIDER_VARIABLES)[keyof typeof PROVIDER_VARIABLES][number];
export type SignInSettings = { NODE_ENV: string } & Partial<Record<ProviderVariable, string>> &
  Record<(typeof PROVIDER_URL_VARIABLES)[number], string>;

/** What is wrong with the settings of the sign-in providers, as a sentence that names a variable; or undefined. */
export function validateSignInSettings(values: SignInSettings): string | undefined {
  const isProduction = values.NODE_ENV === 'production';
  const isSet = (name: ProviderVariable) => values[name] !== undefined;
  for (const [provider, parts] of Object.entries(PROVIDER_VARIABLES)) {
    const missing = parts.filter((name) => !isSet(name));
    if (missing.length === 0 || missing.length === parts.length) continue;
    return `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} not set, but the rest of what sign-in through ${provider} needs is.`;
  }
  if (values.APPLE_PRIVATE_KEY !== undefined && !isApplePrivateKey(values.APPLE_PRIVATE_KEY)) {
    return 'APPLE_PRIVATE_KEY must be the text of the .p8 file from Apple, with \\n in the place of its line breaks.';
  }
  if (isProduction && !Object.values(PROVIDER_VARIABLES).some((parts) => parts.some(isSet))) {
    return 'GOOGLE_CLIENT_ID, APPLE_CLIENT_ID and GITHUB_CLIENT_ID are not set: NODE_ENV=production is refused while nobody can sign in.';
  }
  const plain = PROVIDER_URL_VARIABLES.find((name) => isProduction && !values[name].startsWith('https:'));
  return plain && `${plain} must begin with https:// with NODE_ENV=production.`;
}

/**
 * Whether anybody may sign in by the mere word of an address: on a developer's own machine, as long as no provider is
 * configured.
 */
export function isDevSignInAllowed(values: SignInSettings): boolean {
  return (
    values.NODE_ENV !== 'production' &&
    Object.values(PROVIDER_VARIABLES).every((parts) => values[parts[0]] === undefined)
  );
}

/** The text of a key with its line breaks, which few places that keep variables can hold. */
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
