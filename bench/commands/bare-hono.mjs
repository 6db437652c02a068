// The floor of a server's start: a Hono app with one route.
import { serve } from '@hono/node-server'
import { Hono } from 'hono'

const app = new Hono()
app.get('/healthz', (context) => context.json({ status: 'ok' }))
serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(process.argv[2]) })
