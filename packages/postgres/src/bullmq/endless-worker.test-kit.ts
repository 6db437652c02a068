import { bullmq } from '../bullmq.ts'

// A worker whose runs never end. Prints the id of each thread that it runs.
const { agent, options } = JSON.parse(process.argv[2] ?? '')
bullmq(options).work(
  (threadId) => {
    process.stdout.write(`${threadId}\n`)
    return new Promise(() => {})
  },
  { agents: [agent], maxRuns: 4, onError: (error) => process.stderr.write(`${error.message}\n`) },
)
