import type { VNode } from 'preact';
import { ServiceError } from '../../../../shared/spec/errors.ts';
import type { Context } from '../../../context.ts';
import { getPathParam } from '../../../pipeline/requestParameters.ts';
import { getLanguage } from '../../../language.ts';
import { sendFrontPage } from '../../../web/components/frontPage.tsx';
import { t as shared } from '../../../web/texts.ts';
import { findGuide, type Guide, listGuides, searchGuides } from '../guides.ts';
import { t } from './texts.ts';

const GUIDES_PATH = '/docs/';

/** Lists the guides, or shows what a search finds in them. */
export function showGuidesPage(ctx: Context): void {
  const query = typeof ctx.query['q'] === 'string' ? ctx.query['q'].slice(0, 100) : '';
  const children = (
    <>
      <h1>{shared.guides()}</h1>
      <form class="inline" action={GUIDES_PATH} role="search">
        <div class="field">
          <label for="q">{t.searchLabel()}</label>
          <input id="q" type="text" name="q" value={query} maxLength={100} />
        </div>
        <button type="submit">{t.search()}</button>
      </form>
      {query.trim() === '' ? <GuideList /> : <Matches query={query} />}
    </>
  );
  const title = query === '' ? shared.guides() : t.searchTitle({ query });
  sendFrontPage(ctx, { title, current: GUIDES_PATH, children });
}

function GuideList(): VNode {
  return (
    <ul class="plans apart">
      {listGuides().map(({ slug, title, summary }) => (
        <li class="card" lang="en">
          <h2>
            <a href={`${GUIDES_PATH}${slug}/`}>{title}</a>
          </h2>
          <p class="quiet">{summary}</p>
        </li>
      ))}
      <li class="card">
        <h2>
          <a href="/api/docs/">{t.interface()}</a>
        </h2>
        <p class="quiet">{t.interfaceSummary()}</p>
      </li>
    </ul>
  );
}

function Matches({ query }: { query: string }): VNode {
  const matches = searchGuides(query);
  if (matches.length === 0) return <p class="apart">{t.noMatches()}</p>;
  return (
    <ul class="rows card apart" lang="en">
      {matches.map(({ guide, section, excerpt }) => (
        <li>
          <div class="what">
            <a href={`${GUIDES_PATH}${guide.slug}/${section.id === '' ? '' : `#${section.id}`}`}>
              {section.id === '' ? guide.title : `${guide.title}: ${section.title}`}
            </a>
            <p class="quiet small">{excerpt}</p>
          </div>
        </li>
      ))}
    </ul>
  );
}

/**
 * Shows a guide with its contents.
 * @throws ServiceError not_found
 */
export function showGuidePage(ctx: Context): void {
  const page = getPathParam(ctx, 'page');
  const guide = findGuide(page);
  if (guide === undefined) throw new ServiceError('not_found', `Not found. The guides are listed at ${GUIDES_PATH}.`);
  const children = (
    <div class="guide">
      <Contents guide={guide} />
      <article lang="en">
        <p lang={getLanguage()}>
          <a href={GUIDES_PATH}>{shared.guides()}</a>
        </p>
        <h1>{guide.title}</h1>
        <div dangerouslySetInnerHTML={{ __html: guide.html }} />
      </article>
    </div>
  );
  sendFrontPage(ctx, { title: guide.title, current: GUIDES_PATH, children });
}

function Contents({ guide }: { guide: Guide }): VNode {
  return (
    <nav class="contents" aria-label={t.onThisPage()}>
      <ul lang="en">
        {guide.sections
          .filter(({ id }) => id !== '')
          .map(({ id, title }) => (
            <li>
              <a href={`#${id}`}>{title}</a>
            </li>
          ))}
      </ul>
    </nav>
  );
}
