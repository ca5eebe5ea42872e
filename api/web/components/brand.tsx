import type { VNode } from 'preact';
import { getBrand } from '../brand.ts';

/** Logo and name of the service, which lead to its first page. */
export function Brand({ href = '/account/' }: { href?: string }): VNode {
  return (
    <a class="brand" href={href}>
      <Logo />
      {getBrand().name}
    </a>
  );
}

function Logo(): VNode {
  const { logoUrl } = getBrand();
  if (logoUrl !== undefined) return <img src={logoUrl} width="24" height="24" alt="" />;
  return (
    <svg width="20" height="20" viewBox="0 0 16 16" aria-hidden="true">
      <rect x="1" y="9" width="3" height="6" rx="1" />
      <rect x="6.5" y="5" width="3" height="10" rx="1" />
      <rect x="12" y="1" width="3" height="14" rx="1" />
    </svg>
  );
}

/** Logo of the service as the icon of the page. */
export function Favicon(): VNode {
  return <link rel="icon" href={getBrand().logoUrl ?? buildFavicon(getBrand().accent)} />;
}

function buildFavicon(accent: string): string {
  return `data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cg fill='%23${accent.slice(1)}'%3E%3Crect x='1' y='9' width='3' height='6' rx='1'/%3E%3Crect x='6.5' y='5' width='3' height='10' rx='1'/%3E%3Crect x='12' y='1' width='3' height='14' rx='1'/%3E%3C/g%3E%3C/svg%3E`;
}
