import { parseArgs } from 'node:util'
import { serve } from './serve.ts'

// A process of its own, so that its work is not counted as the client's. Ends with whoever started it.
const { values } = parseArgs({ options: { port: { type: 'string', default: '0' } } })
const url = await serve(Number(values.port))
process.stdout.write(`${JSON.stringify({ url })}\n`)
process.stdin.on('end', () => process.exit(0)).on('error', () => process.exit(0))
process.stdin.resume()
process.on('disconnect', () => process.exit(0))
