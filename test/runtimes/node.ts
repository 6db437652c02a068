import { serve } from '@hono/node-server'
import main from './main.ts'

serve(main, ({ port }) => process.stdout.write(`http://127.0.0.1:${port}\n`))
