import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Icon } from './icons.tsx'

type Loaded<Props> = ComponentType<Props> | { readonly default: ComponentType<Props> }

/**
 * A component that is loaded when it is first shown: `lazy(() => import('./x.tsx'))`, or with a named
 * export `lazy(async () => (await import('./x.tsx')).X)`.
 */
export function lazy<Props extends object>(load: () => Promise<Loaded<Props>>): ComponentType<Props> {
  let Component: ComponentType<Props> | undefined
  return function Lazy(props: Props) {
    const [isFailed, setFailed] = useState(false)
    const [, redraw] = useState(0)
    const start = () => {
      setFailed(false)
      load().then(
        (loaded) => {
          Component = 'default' in loaded ? loaded.default : loaded
          redraw(1)
        },
        () => setFailed(true),
      )
    }
    useEffect(() => {
      if (!Component) start()
    }, [])
    if (Component) return <Component {...props} />
    // Appears after a moment: most of the time it is not seen.
    if (!isFailed) return <p class="lazy lazy-wait quiet">Loading…</p>
    return (
      <div class="lazy" role="alert">
        <p>Can't load this part of the page. If this happens again, reload the page.</p>
        <button type="button" onClick={start}>
          <Icon name="retry" /> Retry
        </button>
      </div>
    )
  }
}
