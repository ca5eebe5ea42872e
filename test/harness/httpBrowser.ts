import { exchange } from './apiClient.ts';

interface Cookie {
  name: string;
  value: string;
  path: string;
}

interface PageRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

export interface HttpPage {
  url: URL;
  status: number;
  headers: Headers;
  text: string;
}

/**
 * A browser without a window: it keeps cookies by their paths, follows redirects, and submits forms that submit
 * themselves. All of its servers are on this machine, so that cookies are sent to every port, as in real browsers.
 */
export class HttpBrowser {
  cookies: Cookie[] = [];
  /** Value of `Accept-Language`. */
  languages = 'en';
  /** The locations of redirects, in order. */
  readonly redirects: string[] = [];

  cookie(name: string): string | undefined {
    return this.cookies.find((cookie) => cookie.name === name)?.value;
  }

  /** Sends one request, without following redirects. */
  async request(url: string | URL, { method = 'GET', headers, body }: PageRequest = {}): Promise<HttpPage> {
    const address = new URL(url);
    const sent = this.cookies.filter(({ path }) => address.pathname.startsWith(path));
    const response = await exchange(address, {
      method,
      headers: {
        'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
        accept: '*/*',
        'accept-language': this.languages,
        cookie: sent.map(({ name, value }) => `${name}=${value}`).join('; '),
        ...headers,
      },
      body,
    });
    for (const line of response.headers.getSetCookie()) this.storeCookie(line);
    return { url: address, ...response };
  }

  /** Opens an address and follows redirects until a page is loaded, or until `until` accepts the next address. */
  async navigate(url: string | URL, until: (next: URL) => boolean = () => false): Promise<HttpPage> {
    let visit = await this.request(url);
    for (let steps = 0; steps < 20; steps += 1) {
      const location = visit.headers.get('location');
      if (location !== null) {
        const next = new URL(location, visit.url);
        this.redirects.push(next.href);
        if (until(next)) return { ...visit, url: next };
        visit = await this.request(next);
        continue;
      }
      const form = findAutoSubmitForm(visit.text);
      if (form === undefined) return visit;
      this.redirects.push(form.action);
      if (until(new URL(form.action))) return visit;
      visit = await this.submitForm(form.action, form.fields, visit.url.origin);
    }
    throw new Error(`No page after 20 steps: ${this.redirects.join(' ')}`);
  }

  /** Submits a form, without following redirects. */
  submitForm(
    action: string | URL,
    fields: Record<string, string> | [name: string, value: string][],
    origin = new URL(action).origin,
  ): Promise<HttpPage> {
    return this.request(action, {
      method: 'POST',
      headers: { origin, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(fields).toString(),
    });
  }

  private storeCookie(line: string): void {
    const [pair = '', ...attributes] = line.split('; ');
    const name = pair.slice(0, pair.indexOf('='));
    const value = pair.slice(name.length + 1);
    const attribute = (wanted: string) =>
      attributes.find((text) => text.toLowerCase().startsWith(`${wanted}=`))?.slice(wanted.length + 1);
    const path = attribute('path') ?? '/';
    this.cookies = this.cookies.filter((cookie) => cookie.name !== name || cookie.path !== path);
    const expires = attribute('expires');
    const isOver = value === '' || (expires !== undefined && Date.parse(expires) < Date.now());
    if (!isOver) this.cookies.push({ name, value, path });
  }
}

/** Creates a browser that is signed in as the owner of a session cookie. */
export function createBrowserFor({ cookie }: { cookie: string }): HttpBrowser {
  const visitor = new HttpBrowser();
  const [name = '', value = ''] = cookie.split('=');
  visitor.cookies.push({ name, value, path: '/' });
  return visitor;
}

export interface PageForm {
  action: string;
  fields: Record<string, string>;
}

/** Reads the hidden fields of the form with an action from a page. */
export function findForm(html: string, action: string): PageForm {
  const form = html.split('<form ').find((part) => part.includes(`action="${action}"`));
  if (form === undefined) throw new Error(`No form for ${action} in: ${html.slice(0, 2_000)}`);
  return { action, fields: parseHiddenFields(form.split('</form>')[0] ?? '') };
}

function findAutoSubmitForm(html: string): PageForm | undefined {
  if (!html.includes('.submit()')) return undefined;
  const [, action = ''] = /<form method="post" action="([^"]+)"/.exec(html) ?? [];
  return { action: unescapeHtml(action), fields: parseHiddenFields(html) };
}

function parseHiddenFields(html: string): Record<string, string> {
  const inputs = html.match(/<input[^>]*type="hidden"[^>]*>/g) ?? [];
  return Object.fromEntries(inputs.map((input) => [parseAttribute(input, 'name'), parseAttribute(input, 'value')]));
}

function parseAttribute(tag: string, name: string): string {
  const [, double, single] = new RegExp(`${name}=(?:"([^"]*)"|'([^']*)')`).exec(tag) ?? [];
  return unescapeHtml(double ?? single ?? '');
}

function unescapeHtml(text: string): string {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}
