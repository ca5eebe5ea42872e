import type { VNode } from 'preact';
import { config } from '../../../shared/lib/config.ts';
import { getBrand } from '../brand.ts';
import { t } from '../texts.ts';

/** Name of the service and links at the end of every page: those that are open to all, and the configured ones. */
export function Footer(): VNode {
  const links = [
    ['/models/', t.models()],
    ['/pricing/', t.pricing()],
    ['/docs/', t.guides()],
    ['/api/docs/', t.apiReference()],
    [config.TERMS_URL, t.terms()],
    [config.PRIVACY_URL, t.privacy()],
    [config.SUPPORT_EMAIL === undefined ? undefined : `mailto:${config.SUPPORT_EMAIL}`, t.support()],
  ];
  return (
    <footer>
      <ul>
        <li class="quiet">{getBrand().name}</li>
        {links.map(([address, label]) =>
          address === undefined ? null : (
            <li>
              <a href={address}>{label}</a>
            </li>
          ),
        )}
      </ul>
    </footer>
  );
}
