(** * What the files about laws have in common

    The libraries they are built on: mathcomp's algebra, its classical reals, and discrete laws with
    their sums. Nothing is proved here. *)

From mathcomp Require Export all_ssreflect ssralg ssrnum ssrint.
From mathcomp.classical Require Export boolp classical_sets mathcomp_extra.
From mathcomp.analysis Require Export reals sequences exp.
From mathcomp.analysis.altreals Require Export xfinmap realseq realsum distr.

Export Order.TTheory GRing.Theory Num.Theory.

#[export] Set Implicit Arguments.
#[export] Unset Strict Implicit.
#[export] Unset Printing Implicit Defensive.
