import { defineConfig } from 'vite'

// With `npm run dev:page`, requests are proxied to a running server.
const server = process.env.MILLRACE_URL ?? 'http://127.0.0.1:8787'
// Source files are not proxied: the page's sources have a folder `threads`, too.
const routes = ['threads', 'agents', 'voice', 'healthz', 'openapi.json'].map(
  (route) => `^/${route}(?!.*\\.(?:tsx?|css)(?:\\?|$))`,
)

export default defineConfig({
  root: import.meta.dirname,
  // Relative, since the server may be mounted under any path.
  base: './',
  // Removes the Node-only code of the library.
  define: { 'globalThis.process': 'undefined' },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [
    {
      // Lazily loaded chunks have no styles, so there is nothing to preload. Vite's helper is half
      // a kilobyte.
      name: 'plain-imports',
      enforce: 'pre',
      load: (id) =>
        id === '\0vite/preload-helper.js' ? 'export const __vitePreload = (load) => load()' : undefined,
    },
  ],
  server: { proxy: Object.fromEntries(routes.map((route) => [route, { target: server, ws: true }])) },
  build: {
    outDir: '../millrace/dist/page/files',
    emptyOutDir: true,
    target: 'es2023',
    modulePreload: false,
    assetsInlineLimit: 0,
  },
})
