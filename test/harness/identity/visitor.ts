interface Cookie {
  name: string;
  value: string;
  path: string;
}

export interface Visit {
  url: URL;
  status: number;
  headers: Headers;
  text: string;
}

/**
 * A browser without a window: it keeps cookies, by their paths, follows redirects, and sends the form of a page that
 * sends itself. All that it talks to is on this machine, so that its cookies go to each port, as in real ones.
 */
export class Visitor {
  cookies: Cookie[] = [];
  /** The addresses that it was sent to, in order. */
  readonly trail: string[] = [];

  cookie(name: string): string | undefined {
    return this.cookies.find((cookie) => cookie.name === name)?.value;
  }

  /** One request, without following anywhere. */
  async ask(url: string | URL, init: RequestInit = {}): Promise<Visit> {
    const address = new URL(url);
    const sent = this.cookies.filter(({ path }) => address.pathname.startsWith(path));
    const response = await fetch(address, {
      ...init,
      redirect: 'manual',
      headers: {
        'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
        cookie: sent.map(({ name, value }) => `${name}=${value}`).join('; '),
        ...(init.headers as Record<string, string> | undefined),
      },
    });
    for (const line of response.headers.getSetCookie()) this.keep(line);
    return { url: address, status: response.status, headers: response.headers, text: await response.text() };
  }

  /** Opens an address, and goes on until a page is there; or until `until` says that the next address is the last. */
  async open(url: string | URL, until: (next: URL) => boolean = () => false): Promise<Visit> {
    let visit = await this.ask(url);
    for (let steps = 0; steps < 20; steps += 1) {
      const location = visit.headers.get('location');
      if (location !== null) {
        const next = new URL(location, visit.url);
        this.trail.push(next.href);
        if (until(next)) return { ...visit, url: next };
        visit = await this.ask(next);
        continue;
      }
      const form = selfSending(visit.text);
      if (form === undefined) return visit;
      this.trail.push(form.action);
      if (until(new URL(form.action))) return visit;
      visit = await this.send(form.action, form.fields, visit.url.origin);
    }
    throw new Error(`No page after 20 steps: ${this.trail.join(' ')}`);
  }

  /** Sends a form, without following anywhere. */
  send(action: string | URL, fields: Record<string, string>, origin = new URL(action).origin): Promise<Visit> {
    return this.ask(action, {
      method: 'POST',
      headers: { origin, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(fields).toString(),
    });
  }

  private keep(line: string): void {
    const [pair = '', ...attributes] = line.split('; ');
    const [name = '', value = ''] = pair.split('=');
    const attribute = (wanted: string) =>
      attributes.find((text) => text.toLowerCase().startsWith(`${wanted}=`))?.slice(wanted.length + 1);
    const path = attribute('path') ?? '/';
    this.cookies = this.cookies.filter((cookie) => cookie.name !== name || cookie.path !== path);
    const expires = attribute('expires');
    const isOver = value === '' || (expires !== undefined && Date.parse(expires) < Date.now());
    if (!isOver) this.cookies.push({ name, value, path });
  }
}

export interface PageForm {
  action: string;
  fields: Record<string, string>;
}

/** The hidden fields of the form with an action, as they stand in a page. */
export function formIn(html: string, action: string): PageForm {
  const form = html.split('<form ').find((part) => part.includes(`action="${action}"`));
  if (form === undefined) throw new Error(`No form for ${action} in: ${html.slice(0, 2_000)}`);
  return { action, fields: fieldsIn(form.split('</form>')[0] ?? '') };
}

function selfSending(html: string): PageForm | undefined {
  if (!html.includes('.submit()')) return undefined;
  const [, action = ''] = /<form method="post" action="([^"]+)"/.exec(html) ?? [];
  return { action: unescaped(action), fields: fieldsIn(html) };
}

function fieldsIn(html: string): Record<string, string> {
  const inputs = html.match(/<input[^>]*type="hidden"[^>]*>/g) ?? [];
  return Object.fromEntries(inputs.map((input) => [attributeIn(input, 'name'), attributeIn(input, 'value')]));
}

function attributeIn(tag: string, name: string): string {
  const [, double, single] = new RegExp(`${name}=(?:"([^"]*)"|'([^']*)')`).exec(tag) ?? [];
  return unescaped(double ?? single ?? '');
}

function unescaped(text: string): string {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}
