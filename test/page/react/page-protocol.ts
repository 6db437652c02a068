import type { Protocol, Route } from 'millrace/server'

/** The files of a page by name, and its script `app.js`. */
export type PageFiles = Readonly<Record<string, string>>

/** Serves a page from the origin of the server, at `/` or at a path such as `/chat`. */
export function pageProtocol(files: PageFiles, at = ''): Protocol {
  const html = `<!doctype html><html lang=en><meta charset=utf-8><title>Chat</title><link rel=icon href=data:,><div id=root></div><script type=module src=${at}/app.js></script>`
  const route = (path: string, type: string, body: string): Route => ({
    method: 'GET',
    path,
    isPublic: true,
    handle: () =>
      new Response(body, {
        headers: { 'content-type': type, 'content-security-policy': "default-src 'self'; img-src data:" },
      }),
  })
  const scripts = Object.entries(files).map(([name, code]) => route(`${at}/${name}`, 'text/javascript', code))
  return {
    name: `page ${at}`,
    mount: () => ({ routes: [route(at || '/', 'text/html', html), ...scripts] }),
  }
}
