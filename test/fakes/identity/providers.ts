import { exportPKCS8, exportSPKI, generateKeyPair, importSPKI, jwtVerify } from 'jose';
import { FakeGitHub } from './github.ts';
import { FakeOpenIdProvider } from './openid.ts';

const getCallbackUrl = (baseUrl: string, provider: string) => `${baseUrl}/authentication/social/${provider}/callback`;

/** Starts a fake Google, with the settings that make the service use it. */
export async function startFakeGoogle() {
  const fake = await new FakeOpenIdProvider().start();
  const env = { GOOGLE_CLIENT_ID: 'google-client', GOOGLE_CLIENT_SECRET: 'google-secret', GOOGLE_ISSUER: fake.url };
  const serve = (...baseUrls: string[]) =>
    fake.serve({
      client_id: env.GOOGLE_CLIENT_ID,
      client_secret: env.GOOGLE_CLIENT_SECRET,
      redirect_uris: baseUrls.map((baseUrl) => getCallbackUrl(baseUrl, 'google')),
      token_endpoint_auth_method: 'client_secret_post',
    });
  return { fake, env, serve };
}

/** Starts a fake Apple. Its client signs a new secret each time, and the name arrives in a form field. */
export async function startFakeApple() {
  const fake = await new FakeOpenIdProvider().start();
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  const pem = await exportPKCS8(privateKey);
  const known = await importSPKI(await exportSPKI(publicKey), 'ES256');
  const env = {
    APPLE_CLIENT_ID: 'com.example.service',
    APPLE_TEAM_ID: 'TEAM123456',
    APPLE_KEY_ID: 'KEY1234567',
    // Line breaks are escaped in environment variables.
    APPLE_PRIVATE_KEY: pem.trim().replaceAll('\n', '\\n'),
    APPLE_ISSUER: fake.url,
  };
  const introduced = new Set<string>();
  fake.onPage = (html) => {
    const { person } = fake;
    if (person === undefined || introduced.has(person.subject) || !html.includes('name="code"')) return html;
    introduced.add(person.subject);
    const user = JSON.stringify({ name: { firstName: person.firstName, lastName: 'Lovelace' }, email: person.email });
    return html.replace('<noscript>', `<input type="hidden" name="user" value='${user}'/><noscript>`);
  };
  const serve = (...baseUrls: string[]) =>
    fake.serve(
      {
        client_id: env.APPLE_CLIENT_ID,
        client_secret: 'never sent',
        redirect_uris: baseUrls.map((baseUrl) => getCallbackUrl(baseUrl, 'apple')),
        token_endpoint_auth_method: 'client_secret_post',
      },
      (provider) => {
        (provider.Client.prototype as unknown as Record<string, unknown>)['compareClientSecret'] = async (
          secret: string,
        ) => {
          const { payload, protectedHeader } = await jwtVerify(secret, known, {
            algorithms: ['ES256'],
            issuer: env.APPLE_TEAM_ID,
            subject: env.APPLE_CLIENT_ID,
            audience: fake.url,
          });
          const lastsSeconds = (payload.exp ?? Infinity) - (payload.iat ?? 0);
          // Apple rejects secrets that are valid for more than six months.
          return protectedHeader.kid === env.APPLE_KEY_ID && lastsSeconds < 15_777_000;
        };
      },
    );
  return { fake, env, serve };
}

export async function startFakeGitHub() {
  const fake = await new FakeGitHub().start();
  const env = {
    GITHUB_CLIENT_ID: fake.clientId,
    GITHUB_CLIENT_SECRET: fake.clientSecret,
    GITHUB_BASE_URL: fake.url,
    GITHUB_API_BASE_URL: `${fake.url}/api/v3`,
  };
  return { fake, env };
}
