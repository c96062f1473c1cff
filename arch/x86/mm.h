/* SPDX-License-Identifier: GPL-2.0-only */
/* Long-mode page tables, 4 levels: AMD APM vol. 2, 5.3. */
#ifndef X86_MM_H
#define X86_MM_H

#include <cupel/types.h>

#define PTE_PRESENT  BIT(0)
#define PTE_WRITE    BIT(1)
#define PTE_USER     BIT(2)
#define PTE_PWT	     BIT(3)
#define PTE_PCD	     BIT(4)
#define PTE_ACCESSED BIT(5)
#define PTE_DIRTY    BIT(6)
#define PTE_LARGE    BIT(7) /* levels 2 and 3 */
#define PTE_NX	     BIT(63)
#define PTE_ADDR     GENMASK(51, 12)

/* With the PAT as reset leaves it, PCD|PWT chooses UC: APM vol. 2, 7.8.2. */
#define PTE_UNCACHED (PTE_PCD | PTE_PWT)

#define PT_LEVELS	4
#define PT_ENTRIES	512
#define PT_SHIFT(l)	(PAGE_SHIFT + 9 * ((l) - 1)) /* level 1 maps 4 KiB pages */
#define PT_INDEX(va, l) (((va) >> PT_SHIFT(l)) & (PT_ENTRIES - 1))

#endif
