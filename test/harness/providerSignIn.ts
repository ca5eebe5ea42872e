import { startFakeApple, startFakeGitHub, startFakeGoogle } from '../fakes/identity/providers.ts';
import type { FakePerson } from '../fakes/identity/person.ts';
import { findForm, HttpBrowser, type HttpPage } from './httpBrowser.ts';
import { type TestService, startTestService } from './testService.ts';

export type ProviderName = 'google' | 'apple' | 'github';

interface Providers {
  google: Awaited<ReturnType<typeof startFakeGoogle>>;
  apple: Awaited<ReturnType<typeof startFakeApple>>;
  github: Awaited<ReturnType<typeof startFakeGitHub>>;
}

/** A service that offers sign-in with three fake providers. */
export class ProviderSignIn {
  readonly service: TestService;
  readonly google: Providers['google'];
  readonly apple: Providers['apple'];
  readonly github: Providers['github'];

  constructor(service: TestService, { google, apple, github }: Providers) {
    this.service = service;
    this.google = google;
    this.apple = apple;
    this.github = github;
  }

  get fakes() {
    return [this.google.fake, this.apple.fake, this.github.fake] as const;
  }

  /** Sets the person who is signed in at all providers. */
  setPerson(person: FakePerson): FakePerson {
    for (const fake of this.fakes) fake.person = person;
    return person;
  }

  startUrl(provider: string, returnTo?: string): string {
    const query = returnTo === undefined ? '' : `?return_to=${encodeURIComponent(returnTo)}`;
    return `${this.service.baseUrl}/authentication/social/${provider}/start${query}`;
  }

  /** Signs in with a provider and returns the page of the service that follows. */
  async signIn(
    provider: ProviderName,
    visitor = new HttpBrowser(),
    returnTo?: string,
  ): Promise<{ visitor: HttpBrowser; page: HttpPage }> {
    return { visitor, page: await visitor.navigate(this.startUrl(provider, returnTo)) };
  }

  /** Signs in at the provider and returns the callback URL without opening it. */
  async signInUpToCallback(visitor: HttpBrowser, provider: ProviderName = 'google', returnTo?: string): Promise<URL> {
    const { url } = await visitor.navigate(this.startUrl(provider, returnTo), isCallback);
    return url;
  }

  /** Returns the signed-in user of a browser, or null. */
  async readUser(visitor: HttpBrowser): Promise<any> {
    const { status, text } = await visitor.request(`${this.service.baseUrl}/authentication/me/`);
    return status === 200 ? JSON.parse(text).user : null;
  }

  /** Makes the providers behave as at the start. */
  resetFakes(): void {
    for (const fake of this.fakes) {
      fake.behavior = 'sign in';
      fake.misbehaviour.clear();
    }
    this.github.fake.addresses = undefined;
    this.google.fake.onToken = (answer) => answer;
    this.google.fake.conformsIdTokenClaims = false;
  }

  async stop(): Promise<void> {
    await this.service.stop();
    await Promise.all(this.fakes.map((fake) => fake.stop()));
  }
}

/** Submits the form of the settings page that links a provider, and returns the address of the provider. */
export async function startLinking(baseUrl: string, visitor: HttpBrowser, provider: ProviderName): Promise<string> {
  const action = `/account/identities/${provider}/link/`;
  const settings = await visitor.request(`${baseUrl}/account/settings/`);
  const { text } = await visitor.submitForm(baseUrl + action, findForm(settings.text, action).fields);
  const [, address = ''] = /href="([^"]+)">\s*Continue/.exec(text) ?? [];
  return address.replaceAll('&amp;', '&');
}

function isCallback(next: URL): boolean {
  return next.pathname.endsWith('/callback');
}

export async function startProviderSignIn(env: Record<string, string> = {}): Promise<ProviderSignIn> {
  const [google, apple, github] = await Promise.all([startFakeGoogle(), startFakeApple(), startFakeGitHub()]);
  const service = await startTestService({
    workers: 0,
    env: {
      SIGN_IN_TIMEOUT_MS: '20000',
      ...google.env,
      ...apple.env,
      ...github.env,
      ...env,
    },
  });
  await Promise.all([google.serve(service.baseUrl), apple.serve(service.baseUrl)]);
  return new ProviderSignIn(service, { google, apple, github });
}

/** The path of a page, with the problem that it reports. */
export function getPageError(url: URL): (string | null)[] {
  return [url.pathname, url.searchParams.get('problem')];
}
