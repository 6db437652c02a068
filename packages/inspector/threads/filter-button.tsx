import { signal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { Icon } from '../icons.tsx'
import { useAction } from '../keyboard.ts'
import { lazy } from '../lazy.tsx'
import { showList } from '../state.ts'

const FilterForm = lazy(async () => (await import('./filter-form.tsx')).FilterForm)

const isOpen = signal(false)

export function FilterButton() {
  const button = useRef<HTMLButtonElement>(null)
  useAction({
    id: 'filter',
    label: 'Filter threads…',
    run() {
      showList()
      isOpen.value = true
    },
  })
  return (
    <>
      <button
        ref={button}
        type="button"
        class="plain icon"
        aria-label="Filter"
        title="Filter"
        aria-haspopup="dialog"
        aria-expanded={isOpen.value}
        onClick={() => (isOpen.value = !isOpen.value)}
      >
        <Icon name="filter" />
      </button>
      {isOpen.value && <FilterForm button={button.current} onClose={() => (isOpen.value = false)} />}
    </>
  )
}
